import Foundation

/// Where a server is: a scheme, a host and a port, and nothing more.
struct ServerAddress: Sendable, Equatable {
    let url: URL
    /// As a browser spells it: `scheme://host`, with the port if it is not the scheme's own.
    let origin: String
    /// The host, with `:port` if it is not 443: what a server is called unless its configuration says otherwise.
    let defaultAudience: String

    /// - Throws: `.configuration` for anything but `https`, or `http` to this machine, or with more than a host and a port.
    init(_ url: URL) throws(SignInError) {
        guard let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty else {
            throw .configuration("the server's address needs a scheme and a host, as in https://example.org")
        }
        guard scheme == "https" || (scheme == "http" && Self.loopback.contains(host)) else {
            throw .configuration("the server's address has to begin with https://; http:// is only for this machine")
        }
        guard ["", "/"].contains(url.path), url.query == nil, url.fragment == nil, url.user == nil else {
            throw .configuration("the server's address has to be a scheme, a host and a port, with nothing after them")
        }
        let standard = scheme == "https" ? 443 : 80
        let port = url.port ?? standard
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        origin = port == standard ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
        defaultAudience = port == 443 ? name : "\(name):\(port)"
        guard let clean = URL(string: origin) else { throw .configuration("that is not a server's address") }
        self.url = clean
    }

    private static let loopback: Set<String> = ["127.0.0.1", "localhost", "::1", "[::1]"]
}
