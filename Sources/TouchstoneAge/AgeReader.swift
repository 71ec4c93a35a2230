import Crypto
package import Foundation
package import TouchstoneMemory

/// Decrypts an age v1 file that was encrypted with a passphrase, chunk by chunk.
///
/// Every chunk that comes out is authentic and in its place; that nothing is missing at the end is known once `next()` has returned nil.
package struct AgeReader {
    private let input: (Int) throws -> Data
    private let key: SymmetricKey
    private var number: UInt64 = 0
    private var buffer: Data
    private var isAtEnd = false
    private var isDone = false

    /// Reads the header and derives the key, which takes as long and as much memory as the file says, within bounds.
    ///
    /// - Parameters:
    ///   - passphrase: Bytes of UTF-8.
    ///   - input: Gives at most so many bytes of the file, at least one until its end.
    /// - Throws: `AgeError`; what `input` throws.
    package init(passphrase: SecretBytes, input: @escaping (Int) throws -> Data) throws {
        self.input = input
        var head = Head(input: input)
        guard try head.line() == AgeFormat.version else { throw AgeError.notAge }
        let recipient = try head.line()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard recipient.first == "->" else { throw AgeError.damaged }
        guard recipient.count == 4, recipient[1] == "scrypt" else { throw AgeError.unsupported }
        guard let salt = AgeFormat.decode(recipient[2], count: AgeFormat.saltBytes),
            let workFactor = Int(recipient[3]), String(workFactor) == recipient[3], workFactor > 0,
            let wrapped = try head.line().flatMap({
                AgeFormat.decode($0, count: AgeFormat.fileKeyBytes + AgeFormat.tagBytes)
            })
        else { throw AgeError.damaged }
        let mark = head.read.count + 3
        guard let last = try head.line() else { throw AgeError.damaged }
        // A passphrase is the only recipient where there is one.
        guard !last.hasPrefix("->") else { throw AgeError.unsupported }
        guard last.hasPrefix("--- "), let code = AgeFormat.decode(last.dropFirst(4), count: 32) else {
            throw AgeError.damaged
        }
        guard workFactor <= AgeFormat.maximumWorkFactor else { throw AgeError.tooExpensive(workFactor: workFactor) }

        let wrapping = try AgeFormat.wrappingKey(passphrase, salt: salt, workFactor: workFactor)
        let box = try ChaChaPoly.SealedBox(
            nonce: AgeFormat.wrapNonce(), ciphertext: wrapped.prefix(AgeFormat.fileKeyBytes),
            tag: wrapped.suffix(AgeFormat.tagBytes))
        guard let opened = try? ChaChaPoly.open(box, using: wrapping) else { throw AgeError.wrongPassphrase }
        let fileKey = SymmetricKey(data: opened)
        guard AgeFormat.headerCodeIsRight(code, of: head.read.prefix(mark), fileKey: fileKey) else {
            throw AgeError.damaged
        }
        let nonce = try head.take(AgeFormat.nonceBytes)
        guard nonce.count == AgeFormat.nonceBytes else { throw AgeError.truncated }
        key = AgeFormat.payloadKey(fileKey, nonce: nonce)
        buffer = head.rest
    }

    /// The next part of what was encrypted, at most 64 KiB; nil after the last.
    ///
    /// - Throws: `AgeError.damaged`, `.truncated`; what `input` throws.
    package mutating func next() throws -> Data? {
        guard !isDone else { return nil }
        let full = AgeFormat.chunkBytes + AgeFormat.tagBytes
        // One byte more tells whether this chunk is the last.
        while buffer.count <= full, !isAtEnd {
            let more = try input(full + 1 - buffer.count)
            isAtEnd = more.isEmpty
            buffer.append(more)
        }
        let isLast = buffer.count <= full
        let chunk = Data(buffer.prefix(full))
        guard chunk.count >= AgeFormat.tagBytes else { throw AgeError.truncated }
        guard let plain = open(chunk, isLast: isLast) else {
            throw isLast && open(chunk, isLast: false) != nil ? AgeError.truncated : AgeError.damaged
        }
        // The last chunk is empty only where there is nothing at all.
        guard !plain.isEmpty || number == 0 else { throw AgeError.damaged }
        buffer = Data(buffer.dropFirst(full))
        number += 1
        isDone = isLast
        return plain.isEmpty ? nil : plain
    }

    private func open(_ chunk: Data, isLast: Bool) -> Data? {
        guard let nonce = try? AgeFormat.chunkNonce(number, isLast: isLast),
            let box = try? ChaChaPoly.SealedBox(
                nonce: nonce, ciphertext: chunk.dropLast(AgeFormat.tagBytes), tag: chunk.suffix(AgeFormat.tagBytes))
        else { return nil }
        return try? ChaChaPoly.open(box, using: key)
    }
}

/// The beginning of a file, read line by line.
private struct Head {
    let input: (Int) throws -> Data
    /// The lines so far, each with its end.
    var read = Data()
    /// What was read beyond them.
    var rest = Data()

    init(input: @escaping (Int) throws -> Data) { self.input = input }

    /// Longer than any line of a header that is read here.
    private static let lineBytes = 128

    /// nil if there is none: end of file, too long, or not ASCII.
    mutating func line() throws -> String? {
        while !rest.contains(UInt8(ascii: "\n")) {
            guard rest.count <= Self.lineBytes else { return nil }
            let more = try input(Self.lineBytes)
            guard !more.isEmpty else { return nil }
            rest.append(more)
        }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        read.append(line)
        read.append(UInt8(ascii: "\n"))
        rest = Data(rest.dropFirst(line.count + 1))
        guard line.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return String(decoding: line, as: UTF8.self)
    }

    mutating func take(_ count: Int) throws -> Data {
        while rest.count < count {
            let more = try input(count - rest.count)
            guard !more.isEmpty else { break }
            rest.append(more)
        }
        let taken = Data(rest.prefix(count))
        rest = Data(rest.dropFirst(count))
        return taken
    }
}
