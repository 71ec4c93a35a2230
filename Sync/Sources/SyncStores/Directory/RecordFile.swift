package import Foundation

/// What a file of a directory store holds: a check of its content, because a copier may have brought a part of it.
///
/// 16 bytes that say what it is, 32 bytes of SHA-256 of the content, the content.
package enum RecordFile {
    static let magic = Data("touchstone-sync1".utf8)
    static let headerCount = magic.count + 32

    package static func file(of content: Data) -> Data { magic + sha256(content) + content }

    /// Nil for a file that is not whole.
    package static func content(of file: Data) -> Data? {
        guard file.count > headerCount, file.starts(with: magic) else { return nil }
        let content = Data(file.dropFirst(headerCount))
        return sha256(content) == file.dropFirst(magic.count).prefix(32) ? content : nil
    }
}
