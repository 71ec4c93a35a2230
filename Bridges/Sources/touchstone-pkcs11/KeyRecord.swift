import BridgeCore
import Foundation

/// A key of the enclave's and its certificate, as the bridge keeps them in the keychain (PK-11).
struct KeyRecord: Codable {
    /// What its owner calls it.
    var name: String
    /// What the enclave calls it: opaque, and of no use without the enclave.
    var key: Data
    /// 65 bytes, uncompressed.
    var publicKey: Data
    /// Who has to prove what.
    var protection: KeyProtection
    /// What clients find it by: the SHA-1 of its point, or what the program said that had it made.
    var identifier: Data
    /// DER.
    var certificate: Data?
    /// For how many seconds an approval is good for the same client (PK-17).
    var reuse = 0.0
    /// Whether a client logs in for each use (PK-12).
    var wantsExplicitLogin = false
    /// The path of the program that had it made; nil where the owner's command did.
    var madeBy: String?
}

/// What keys can be called: whatever can be read, and typed.
enum KeyName {
    private static let longest = 64

    static func isValid(_ name: String) -> Bool {
        (1...longest).contains(name.utf8.count) && Sentence.printable(name) == name && !name.hasPrefix("-")
            && name.trimmingCharacters(in: .whitespaces) == name
    }
}
