import Foundation
import Glibc

/// p11-kit's settings of this user: where programs find the token.
enum PKCS11Settings {
    static var path: String { "\(ConfigurationFiles.directory)/pkcs11/modules/touchstone.module" }
    static var environmentPath: String { "\(ConfigurationFiles.directory)/environment.d/touchstone-pkcs11.conf" }

    static func address(_ socket: String) -> String { "unix:path=\(socket)" }

    /// A module of which no code of ours is loaded: p11-kit itself asks at the socket (PK-3).
    static func module(_ socket: String) -> Data {
        Data(
            """
            # From 'touchstone bridge enable pkcs11'; 'touchstone bridge disable pkcs11' removes it.
            remote: \(address(socket))

            """.utf8)
    }

    static func environment(_ socket: String) -> Data { Data("P11_KIT_SERVER_ADDRESS=\(address(socket))\n".utf8) }

    /// Whether a program can load p11-kit's client, in any of the places where distributions have it.
    static var hasClient: Bool {
        let places = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return (places.filter { $0.contains("-linux-gnu") }.map { "/usr/lib/\($0)" } + ["/usr/lib", "/usr/lib64"])
            .contains { unsafe access("\($0)/pkcs11/p11-kit-client.so", R_OK) == 0 }
    }
}
