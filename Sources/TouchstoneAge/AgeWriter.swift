import Crypto
package import Foundation
package import TouchstoneMemory

/// Encrypts a stream of bytes with a passphrase, as an age v1 file.
///
/// At most two chunks of 64 KiB are in memory. Without ``finish()`` what was written is a file that no reader takes.
package struct AgeWriter {
    private let output: (Data) throws -> Void
    private let key: SymmetricKey
    private var number: UInt64 = 0
    private var pending = Data()

    /// Derives the key, which takes about a second and 256 MiB, and writes the header.
    ///
    /// - Parameters:
    ///   - passphrase: Bytes of UTF-8; whether it is a good one is the caller's affair.
    ///   - output: Takes what is next of the file.
    /// - Throws: `AgeError.noMemory`; what `output` throws.
    package init(passphrase: SecretBytes, output: @escaping (Data) throws -> Void) throws {
        try self.init(passphrase: passphrase, workFactor: AgeFormat.workFactor, output: output)
    }

    /// For this module's tests: nobody else can write with less.
    init(passphrase: SecretBytes, workFactor: Int, output: @escaping (Data) throws -> Void) throws {
        self.output = output
        let fileKey = SymmetricKey(size: SymmetricKeySize(bitCount: AgeFormat.fileKeyBytes * 8))
        let salt = Self.random(AgeFormat.saltBytes)
        let wrapping = try AgeFormat.wrappingKey(passphrase, salt: salt, workFactor: workFactor)
        let wrapped = unsafe try fileKey.withUnsafeBytes {
            unsafe try ChaChaPoly.seal($0, using: wrapping, nonce: AgeFormat.wrapNonce())
        }
        var header = Data(
            """
            \(AgeFormat.version)
            -> scrypt \(AgeFormat.encode(salt)) \(workFactor)
            \(AgeFormat.encode(wrapped.ciphertext + wrapped.tag))
            ---
            """.utf8)
        let code = AgeFormat.encode(AgeFormat.headerCode(header, fileKey: fileKey))
        header.append(contentsOf: " \(code)\n".utf8)
        let nonce = Self.random(AgeFormat.nonceBytes)
        key = AgeFormat.payloadKey(fileKey, nonce: nonce)
        try output(header + nonce)
    }

    package mutating func write(_ bytes: Data) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            // A full chunk waits until it is known that it is not the last.
            if pending.count == AgeFormat.chunkBytes { try emit(isLast: false) }
            let part = rest.prefix(AgeFormat.chunkBytes - pending.count)
            pending.append(part)
            rest = rest.dropFirst(part.count)
        }
    }

    /// Writes the last chunk.
    ///
    /// Nothing may be written after it.
    package mutating func finish() throws { try emit(isLast: true) }

    private mutating func emit(isLast: Bool) throws {
        let box = try ChaChaPoly.seal(
            pending, using: key, nonce: AgeFormat.chunkNonce(number, isLast: isLast))
        number += 1
        pending.resetBytes(in: 0..<pending.count)
        pending.removeAll(keepingCapacity: true)
        try output(box.ciphertext + box.tag)
    }

    private static func random(_ count: Int) -> Data {
        let bytes = SecretBytes.random(count: count)
        return unsafe bytes.withUnsafeBytes { unsafe Data($0) }
    }
}
