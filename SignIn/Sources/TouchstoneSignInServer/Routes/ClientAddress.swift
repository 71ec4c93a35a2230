import HTTPTypes
import Hummingbird
import NIOCore

extension SignInServer {
    // Nil only for what is no field's name.
    private static let forwardedFor = HTTPField.Name("X-Forwarded-For")!

    /// Whose address a request counts for: the connection's, or what a trusted proxy says that it was.
    ///
    /// Of `X-Forwarded-For` the last address that is not a trusted proxy's: everything before it is the client's claim.
    func address(_ request: Request, _ context: some RemoteAddressRequestContext) -> String {
        let connection = IPAddress(context.remoteAddress)
        guard let peer = connection, trustedProxies.contains(peer) else { return Self.network(of: connection) }
        for value in request.headers[values: Self.forwardedFor].reversed() {
            for text in value.split(separator: ",").reversed() {
                let named = IPAddress(Self.trimmed(text))
                guard let client = named, trustedProxies.contains(client) else { return Self.network(of: named) }
            }
        }
        return Self.network(of: peer)
    }

    static func network(of address: IPAddress?) -> String { address?.network ?? "unknown" }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
