import Crypto
import Foundation
import HTTPTypes
import NIOCore

/// The key with which the page seals passcodes before they leave it: only this server can open them, and no program that has its port later.
///
/// A tab that is left open does not know who answers at its address later. It has this key from its beginning, and nothing that it
/// sends later tells it.
struct PageKey: Sendable {
    private let key = SymmetricKey(size: .bits256)

    /// 32 bytes, new with each start.
    var bytes: ByteBuffer { unsafe key.withUnsafeBytes { unsafe ByteBuffer(bytes: $0) } }

    /// Opens what was sealed for a path: AES-256-GCM, 12 bytes of nonce, the ciphertext, 16 bytes of tag; the path is authenticated.
    ///
    /// - Throws: `Refusal` if it was sealed with another key, for another path, or was changed.
    func open(_ sealed: ByteBuffer, for path: String) throws(Refusal) -> ByteBuffer {
        do {
            let box = try AES.GCM.SealedBox(combined: Data(sealed.readableBytesView))
            var plain = try AES.GCM.open(box, using: key, authenticating: Data(path.utf8))
            defer { plain.resetBytes(in: plain.indices) }
            return ByteBuffer(bytes: plain)
        } catch {
            throw Refusal(.badRequest)
        }
    }

    /// Bytes that a sealed one is longer.
    static let overhead = 12 + 16
}
