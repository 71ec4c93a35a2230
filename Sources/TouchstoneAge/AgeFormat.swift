import CSodium
import Crypto
import Foundation
import TouchstoneMemory

/// What the two directions share of age v1, the file format of https://age-encryption.org/v1, for one scrypt recipient.
package enum AgeFormat {
    /// Of what is written: 2¹⁸ rounds, 256 MiB, about a second.
    ///
    /// There is no way to write with less.
    package static let workFactor = 18
    /// Of what is read: 2²⁰ rounds take 1 GiB; a hostile file shall not take more.
    package static let maximumWorkFactor = 20

    static let version = "age-encryption.org/v1"
    static let fileKeyBytes = 16
    static let saltBytes = 16
    static let nonceBytes = 16
    static let chunkBytes = 64 << 10
    static let tagBytes = 16

    /// The key that wraps the file key.
    static func wrappingKey(_ passphrase: SecretBytes, salt: Data, workFactor: Int) throws(AgeError) -> SymmetricKey {
        let label = Data("age-encryption.org/v1/scrypt".utf8) + salt
        do {
            let key = unsafe try SecretBytes(count: 32) { output in
                let result = unsafe passphrase.withUnsafeBytes { passphrase in
                    unsafe label.withUnsafeBytes { label in
                        unsafe crypto_pwhash_scryptsalsa208sha256_ll(
                            passphrase.baseAddress!.assumingMemoryBound(to: UInt8.self), passphrase.count,
                            label.baseAddress!.assumingMemoryBound(to: UInt8.self), label.count,
                            UInt64(1) << UInt64(workFactor), 8, 1,
                            output.baseAddress!.assumingMemoryBound(to: UInt8.self), output.count)
                    }
                }
                guard result == 0 else { throw AgeError.noMemory }
            }
            return unsafe key.withUnsafeBytes { unsafe SymmetricKey(data: $0) }
        } catch {
            throw .noMemory
        }
    }

    /// A file key is wrapped once under each key, so that the nonce can stand still.
    static func wrapNonce() throws -> ChaChaPoly.Nonce { try ChaChaPoly.Nonce(data: Data(count: 12)) }

    static func headerCode(_ header: Data, fileKey: SymmetricKey) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: header, using: derive(fileKey, salt: Data(), "header"))
    }

    static func headerCodeIsRight(_ code: Data, of header: Data, fileKey: SymmetricKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: header, using: derive(fileKey, salt: Data(), "header"))
    }

    static func payloadKey(_ fileKey: SymmetricKey, nonce: Data) -> SymmetricKey {
        derive(fileKey, salt: nonce, "payload")
    }

    private static func derive(_ key: SymmetricKey, salt: Data, _ info: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: Data(info.utf8), outputByteCount: 32)
    }

    /// Number of the chunk in 11 bytes, big-endian, and whether it is the last.
    static func chunkNonce(_ number: UInt64, isLast: Bool) throws -> ChaChaPoly.Nonce {
        var bytes = Data(count: 3)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
        bytes.append(isLast ? 1 : 0)
        return try ChaChaPoly.Nonce(data: bytes)
    }

    // Base64 without padding, in its one canonical form.

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "=", with: "")
    }

    static func decode(_ text: some StringProtocol, count: Int) -> Data? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: text + padding), bytes.count == count, encode(bytes) == text else {
            return nil
        }
        return bytes
    }
}
