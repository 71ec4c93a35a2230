import Crypto
import Foundation

@testable import AgePlugin

/// A key as the enclave has one, in this process.
struct SampleKey {
    let key = P256.KeyAgreement.PrivateKey()
    var recipient: TagRecipient { TagRecipient(point: key.publicKey.x963Representation)! }
    var identity: PluginIdentity { PluginIdentity(recipient: recipient, key: Data("blob of the enclave".utf8)) }

    /// The enclave's part: the coordinate x.
    func agree(_ share: Data) throws -> Data {
        let secret = try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: share))
        return secret.withUnsafeBytes { Data($0) }
    }
}

extension Data {
    init(hexadecimal text: String) {
        let digits = text.compactMap(\.hexDigitValue)
        self.init(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}

/// All stanzas of a text, line by line.
func stanzas(_ text: String) throws -> [Stanza] {
    var reader = StanzaReader()
    var found: [Stanza] = []
    var lines = Array(text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false)
    // A last line has an end, or it is not there.
    lines.removeLast()
    for line in lines { if let stanza = try reader.take(Array(line)) { found.append(stanza) } }
    guard reader.isBetween else { throw StanzaError.malformed }
    return found
}
