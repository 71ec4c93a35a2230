internal import Foundation
internal import Glibc

/// The users of this machine as `/etc/passwd` has them, and nobody else.
///
/// Not by the system's name service (DEC-061): its modules are code of others, which speaks with programs of others, and would run in
/// the enclave.
package struct PasswordFile: Sendable {
    package static let system = PasswordFile(path: "/etc/passwd")

    private static let largestFile = 1 << 20
    private static let longestName = 255
    private static let fields = 7

    let path: String

    /// The name of the first user with this number; nil: there is none, or the file cannot be read.
    package func name(of id: UInt32) -> String? { entries().first { $0.id == id }?.name }

    /// The number of the first user with this name; nil as above.
    package func id(of name: String) -> UInt32? { entries().first { $0.name == name }?.id }

    /// In order.
    ///
    /// A line of another form is nobody: so is one of the name service's own (`+`, `-`).
    private func entries() -> [(name: String, id: UInt32)] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let bytes = try? handle.read(upToCount: Self.largestFile + 1), bytes.count <= Self.largestFile else {
            return []
        }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard fields.count == Self.fields, let name = String(bytes: fields[0], encoding: .utf8),
                (1...Self.longestName).contains(name.utf8.count), ![".", ".."].contains(name), !name.contains("/"),
                !["+", "-", "#"].contains(name.first),
                fields[2].allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
                let id = String(bytes: fields[2], encoding: .utf8).flatMap(UInt32.init)
            else { return nil }
            return (name, id)
        }
    }
}
