import Crypto
import Foundation
import Glibc

/// One change of a file, and what puts the file back: the lines that went, and the lines that came in their place.
///
/// It keeps no other line, because such a file may have secrets of other programs.
struct FileChange: Codable, Hashable {
    /// Whose lines they are, because git and docker write these files too, in their own way.
    enum Kind: String, Codable { case text, git, docker }

    let path: String
    let kind: Kind
    /// git's helpers, or docker's store, before the change.
    let previous: [String]
    /// Where the lines are, in bytes.
    let offset: Int
    let removed: Data
    let inserted: Data
    /// SHA-256 of the whole file after the change, lowercase hexadecimal.
    let digest: String
    /// Whether there was no such file.
    let isNew: Bool
    /// Directories that were made for it, the outermost first.
    var directories: [String] = []

    /// The whole lines in which two texts differ; nil if they do not.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - kind: Whose lines they are.
    ///   - previous: git's helpers, or docker's store, before the change.
    ///   - before: nil: there is no file.
    ///   - after: What it is to be.
    init?(_ path: String, kind: Kind = .text, previous: [String] = [], before: Data?, after: Data) {
        guard before != after else { return nil }
        let (old, new) = (Array(before ?? Data()), Array(after))
        var start = zip(old, new).prefix { $0 == $1 }.count
        // At the beginning of a line: half a word could stand elsewhere in the file, too.
        while start > 0, old[start - 1] != UInt8(ascii: "\n") { start -= 1 }
        let limit = min(old.count, new.count) - start
        var end = zip(old.reversed(), new.reversed()).prefix(limit).prefix { $0 == $1 }.count
        while end > 0,
            ![old, new].allSatisfy({ $0.count - end == start || $0[$0.count - end - 1] == UInt8(ascii: "\n") })
        {
            end -= 1
        }
        self.path = path
        self.kind = kind
        self.previous = previous
        offset = start
        removed = Data(old[start..<(old.count - end)])
        inserted = Data(new[start..<(new.count - end)])
        digest = Self.digest(after)
        isNew = before == nil
    }

    /// Whether what was there is still there.
    var isAddition: Bool { inserted.starts(with: removed) }

    private static func digest(_ text: Data) -> String {
        SHA256.hash(data: text).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// What putting a file back comes to.
    enum Undone: Equatable {
        /// The file is to be this.
        case text(Data)
        /// It was not there before, and goes.
        case nothing
        /// It does not have the lines.
        case unchanged
        /// The lines cannot be told from others.
        case unclear
    }

    /// The file as it was before: byte for byte, or without these lines if somebody has changed others since.
    func undone(in current: Data?) throws -> Undone {
        guard let current else { return .unchanged }
        let bytes = Array(current)
        if Self.digest(current) == digest, offset >= 0, offset + inserted.count <= bytes.count {
            return restored(Array(bytes[..<offset]) + removed + bytes[(offset + inserted.count)...])
        }
        switch kind {
        case .git:
            guard try GitSettings.helpers(in: current).contains(where: GitSettings.isOurs) else { return .unchanged }
            return .text(try GitSettings.setting(previous, in: current))
        case .docker:
            guard DockerSettings.store(in: current) == DockerSettings.name else { return .unchanged }
            return try DockerSettings.setting(previous.first, in: current).map { .text($0) } ?? .unclear
        case .text:
            guard let first = current.range(of: inserted) else { return .unchanged }
            guard !inserted.isEmpty, current.range(of: inserted, in: (first.lowerBound + 1)..<current.endIndex) == nil
            else {
                return .unclear
            }
            return restored(Array(current[..<first.lowerBound]) + removed + current[first.upperBound...])
        }
    }

    /// Puts the file back.
    ///
    /// - Returns: false if the lines cannot be found for certain.
    func undo() throws -> Bool {
        switch try undone(in: ConfigurationFiles.read(path)) {
        case .text(let text): try ConfigurationFiles.write(text, path)
        case .nothing:
            guard unsafe unlink(path) == 0 || errno == ENOENT else { throw Failure.system(path) }
        case .unchanged: break
        case .unclear: return false
        }
        // One that is not empty is in use.
        for directory in directories.reversed() { unsafe rmdir(directory) }
        return true
    }

    private func restored(_ bytes: [UInt8]) -> Undone {
        isNew && bytes.isEmpty ? .nothing : .text(Data(bytes))
    }
}
