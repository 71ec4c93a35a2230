import Foundation
import HTTPTypes
import Synchronization

/// Decides who is let in: only the page that this program served, requested by somebody who knows the address.
///
/// Any site that the owner visits can have the browser send requests to 127.0.0.1, and any name can be made to lead there. So a request has
/// to know the token, name this server as its host, and come from this page or from nowhere (a person who opens the address).
final class Door: Sendable {
    /// The first part of every path: 32 hexadecimal digits, new with each start.
    let token: String
    private let port = Mutex<Int?>(nil)

    init() {
        var generator = SystemRandomNumberGenerator()
        token = (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The server listens at `port`: before that nobody is let in.
    func open(port: Int) {
        self.port.withLock { $0 = port }
    }

    /// The path below the token.
    ///
    /// - Throws: `Refusal`.
    func admit(_ request: HTTPRequest) throws(Refusal) -> String {
        guard let port = port.withLock({ $0 }), let host = request.authority,
            host == "127.0.0.1:\(port)"
        else { throw .init(.misdirectedRequest) }
        let fields = request.headerFields
        if let site = fields[.secFetchSite], site != "same-origin", site != "none" { throw .init(.forbidden) }
        let origins = fields[values: .origin]
        guard origins.allSatisfy({ $0 == "http://\(host)" }) else { throw .init(.forbidden) }
        switch request.method {
        case .get: break
        case .post: guard origins.count == 1 else { throw .init(.forbidden) }
        default: throw .init(.methodNotAllowed)
        }
        let parts = (request.path ?? "").split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        // "/TOKEN/rest" is "" and "TOKEN/rest".
        guard parts.count == 2, parts[0].isEmpty else { throw .init(.notFound) }
        let rest = parts[1].utf8
        guard Self.isEqual(rest.prefix(token.utf8.count), token.utf8) else { throw .init(.notFound) }
        let below = rest.dropFirst(token.utf8.count)
        guard below.first == UInt8(ascii: "/"), let path = String(below.dropFirst()) else { throw .init(.notFound) }
        return path
    }

    /// In a time that does not depend on where they differ.
    private static func isEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// A request that is answered with nothing but this status.
struct Refusal: Error {
    var status: HTTPResponse.Status

    init(_ status: HTTPResponse.Status) { self.status = status }
}

extension HTTPField.Name {
    /// Where a browser says that a request comes from.
    static let secFetchSite = Self("Sec-Fetch-Site")!
    static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
    static let referrerPolicy = Self("Referrer-Policy")!
}
