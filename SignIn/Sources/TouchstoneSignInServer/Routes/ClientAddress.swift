import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension SignInServer {
    /// Whose address a request counts for: the connection's, or what a trusted proxy says that it was.
    ///
    /// Of `X-Forwarded-For` the last address that is not a trusted proxy's: everything before it is the client's claim.
    func address(_ request: Request, _ context: some RemoteAddressRequestContext) -> String {
        let peer = context.remoteAddress?.ipAddress.flatMap(Self.canonical) ?? "unknown"
        guard trustedProxies.contains(peer),
            let name = HTTPField.Name("X-Forwarded-For")
        else { return Self.network(of: peer) }
        let forwarded = request.headers[values: name].joined(separator: ",").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .map { Self.canonical($0) ?? $0 }
        let client = forwarded.last { !trustedProxies.contains($0) } ?? peer
        return Self.network(of: client)
    }

    /// An address in its usual form, for IPv4 in IPv6 (`::ffff:192.0.2.1`) the IPv4; nil if it is not an address.
    static func canonical(_ address: String) -> String? {
        guard let text = (try? SocketAddress(ipAddress: address, port: 0))?.ipAddress?.lowercased() else { return nil }
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".") ? String(text.dropFirst(mapped.count)) : text
    }

    /// An IPv6 subscriber has 64 bits of addresses: they count as one.
    static func network(of address: String) -> String {
        guard let address = canonical(address), let parsed = try? SocketAddress(ipAddress: address, port: 0) else {
            return "unknown"
        }
        guard case .v6(let v6) = parsed else { return address }
        // Bytes 8 to 23 of a sockaddr_in6 (RFC 3493): which module its members belong to differs from build to build.
        return unsafe withUnsafeBytes(of: v6.address) { address in
            unsafe address[8..<16].map { String($0, radix: 16) }.joined(separator: ":")
        }
    }
}
