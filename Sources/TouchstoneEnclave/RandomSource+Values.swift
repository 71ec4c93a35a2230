import Crypto
import Foundation
import TouchstoneMemory

extension RandomSource {
    /// So many bytes, in locked memory.
    func secret(count: Int) -> SecretBytes {
        unsafe SecretBytes(count: count) { unsafe fill($0) }
    }

    /// So many bytes that are no secret, or that whoever asks erases.
    func bytes(count: Int) -> Data {
        var bytes = Data(count: count)
        unsafe bytes.withUnsafeMutableBytes { unsafe fill($0) }
        return bytes
    }

    /// 128 bits in hex: the name of something that is named by nothing else.
    package func identifier() -> String {
        bytes(count: 16).map { String(format: "%02x", $0) }.joined()
    }

    /// As `UUID()` makes them: version 4, 122 bits of it random.
    func uuid() -> UUID {
        var bytes = [UInt8](bytes(count: 16))
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return unsafe bytes.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// AES-256-GCM with a nonce of this source: nonce (12 bytes), ciphertext, tag (16 bytes).
    func seal(_ plain: some DataProtocol, using key: SymmetricKey, authenticating context: Data) throws -> Data {
        let nonce = try AES.GCM.Nonce(data: bytes(count: 12))
        // `combined` is nil only for nonces of other lengths.
        return try AES.GCM.seal(plain, using: key, nonce: nonce, authenticating: context).combined ?? Data()
    }

    /// The same of a secret; opened by ``SecretBytes/open(_:context:)``.
    func seal(_ secret: SecretBytes, under key: SecretBytes, context: Data) throws -> Data {
        unsafe try secret.withUnsafeBytes {
            unsafe try seal($0, using: key.symmetricKey, authenticating: context)
        }
    }
}
