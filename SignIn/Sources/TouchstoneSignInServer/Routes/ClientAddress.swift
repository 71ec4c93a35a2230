import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension SignInServer {
    /// Whose address a request counts for: the connection's, or what a trusted proxy says that it was.
    ///
    /// Of `X-Forwarded-For` the last address that is no trusted proxy's: everything before it is the client's claim.
    func address(_ request: Request, _ context: some RequestContext) -> String {
        let peer = (context as? any RemoteAddressRequestContext)?.remoteAddress?.ipAddress ?? "unknown"
        guard configuration.trustedProxies.contains(peer),
            let name = HTTPField.Name("X-Forwarded-For")
        else { return Self.network(of: peer) }
        let forwarded = request.headers[values: name].joined(separator: ",").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        let client = forwarded.last { !configuration.trustedProxies.contains($0) } ?? peer
        return Self.network(of: client)
    }

    /// An IPv6 subscriber has 64 bits of addresses: they count as one.
    static func network(of address: String) -> String {
        guard let parsed = try? SocketAddress(ipAddress: address, port: 0) else { return "unknown" }
        guard case .v6(let v6) = parsed else { return address }
        // Bytes 8 to 23 of a sockaddr_in6 (RFC 3493): which module its members belong to differs from build to build.
        return withUnsafeBytes(of: v6.address) { address in
            let bytes = address[8..<24]
            let mapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[18] == 0xFF && bytes[19] == 0xFF
            return bytes.prefix(mapped ? 16 : 8).map { String($0, radix: 16) }.joined(separator: ":")
        }
    }
}
