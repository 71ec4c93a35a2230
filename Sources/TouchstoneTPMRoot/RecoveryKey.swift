package import Crypto
import Foundation
import TouchstoneEnclave
package import TouchstoneMemory

/// What the owner writes down when a device is created, to move it to another TPM: 128 random bits.
///
/// As text: 32 letters and digits in groups of four, of RFC 4648's base 32; the last seven hold a checksum.
package struct RecoveryKey {
    private let secret: SecretBytes

    package init() { secret = .random(count: Self.length) }

    /// nil for what is not such a text; spaces, dashes and the case of letters do not matter.
    package init?(text: SecretBytes) {
        let alphabet = Array(Self.alphabet.utf8)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var bytes = ContiguousArray<UInt8>()
        bytes.reserveCapacity(Self.length + Self.checksumLength)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        let isText = unsafe text.withUnsafeBytes { text in
            for index in 0..<text.count {
                let byte = unsafe text[index]
                if [0x20, 0x2D, 0x0D].contains(byte) { continue }
                let upper = (0x61...0x7A).contains(byte) ? byte - 0x20 : byte
                guard let value = alphabet.firstIndex(of: upper), bytes.count < Self.length + Self.checksumLength else {
                    return false
                }
                bits = bits << 5 | UInt32(value)
                count += 5
                if count >= 8 {
                    count -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                }
            }
            return true
        }
        guard isText, bytes.count == Self.length + Self.checksumLength else { return nil }
        let secret = SecretBytes(bytes.prefix(Self.length))
        guard Self.checksum(secret).elementsEqual(bytes.suffix(Self.checksumLength)) else { return nil }
        self.secret = secret
    }

    /// To be shown once, to the owner alone.
    package var text: SecretBytes {
        let alphabet = Array(Self.alphabet.utf8)
        let bytes = unsafe secret.withUnsafeBytes { unsafe ContiguousArray($0) } + Self.checksum(secret)
        var text = ContiguousArray<UInt8>()
        text.reserveCapacity(bytes.count * 2)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var letters = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                if letters > 0, letters.isMultiple(of: 4) { text.append(UInt8(ascii: "-")) }
                text.append(alphabet[Int(bits >> count & 31)])
                letters += 1
            }
        }
        defer { for index in text.indices { text[index] = 0 } }
        return SecretBytes(text)
    }

    /// Opens what is sealed with `publicKey`.
    package var privateKey: Curve25519.KeyAgreement.PrivateKey {
        get throws {
            unsafe try secret.derive("recovery").withUnsafeBytes {
                unsafe try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0)
            }
        }
    }

    private static func checksum(_ secret: SecretBytes) -> Data {
        unsafe secret.derive("recovery checksum").withUnsafeBytes { unsafe Data($0.prefix(checksumLength)) }
    }

    private static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    private static let length = 16
    private static let checksumLength = 4
}
