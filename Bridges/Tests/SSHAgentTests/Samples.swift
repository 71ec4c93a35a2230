import Crypto
import SSHAgentProtocol

/// Writes ssh's wire format, apart from the code that is tested.
func string(_ bytes: [UInt8]) -> [UInt8] {
    let count = UInt32(bytes.count)
    return [UInt8(count >> 24), UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)] + bytes
}

func string(_ text: String) -> [UInt8] { string(Array(text.utf8)) }

/// A server, with a key of its own.
struct Server {
    let key = Curve25519.Signing.PrivateKey()

    var blob: [UInt8] { string("ssh-ed25519") + string(Array(key.publicKey.rawRepresentation)) }

    func signature(_ data: [UInt8]) throws -> [UInt8] {
        string("ssh-ed25519") + string(Array(try key.signature(for: data)))
    }

    func binding(_ id: [UInt8], forwarding: Bool = false) throws -> [UInt8] {
        string(blob) + string(id) + string(try signature(id)) + [forwarding ? 1 : 0]
    }
}

/// The key of a user's.
let userKey = P256Key.blob(point: Array(P256.Signing.PrivateKey().publicKey.x963Representation))!

func login(
    _ id: [UInt8], user: String = "git", key: [UInt8] = userKey, algorithm: String = "ecdsa-sha2-nistp256",
    host: [UInt8]? = nil
) -> [UInt8] {
    string(id) + [50] + string(user) + string("ssh-connection")
        + string(host == nil ? "publickey" : "publickey-hostbound-v00@openssh.com") + [1] + string(algorithm)
        + string(key)
        + (host.map { string($0) } ?? [])
}

func message(_ namespace: String) -> [UInt8] {
    Array("SSHSIG".utf8) + string(namespace) + string("") + string("sha512") + string(Array(repeating: 7, count: 64))
}

/// The bindings of a connection, of which an expectation may take one.
@dynamicMemberLookup final class Bound {
    var bindings = SessionBindings()

    func bind(_ contents: [UInt8]) -> Bool { bindings.bind(contents) }

    subscript<Value>(dynamicMember path: KeyPath<SessionBindings, Value>) -> Value { bindings[keyPath: path] }
}
