public import Foundation

/// The users of this machine by the text of `/etc/passwd`, and by nothing else (PM-4, DEC-061).
public enum UserEntries {
    /// Most bytes of the file that are looked at.
    public static let largestFile = 1 << 20

    /// The number of the first user with this name.
    ///
    /// - Parameters:
    ///   - name: As PAM has it.
    ///   - file: The bytes of the file.
    /// - Returns: nil if there is no such line, or it is not of the usual form. A line of the name service's own (`+`, `-`) is nobody.
    public static func userID(of name: String, in file: Data) -> UInt32? {
        guard isName(name) else { return nil }
        return entries(in: file).first { $0.name.elementsEqual(name.utf8) }?.id
    }

    /// The name of the first user with this number.
    ///
    /// - Parameters:
    ///   - userID: The number.
    ///   - file: As of ``userID(of:in:)``.
    /// - Returns: nil as there.
    public static func name(of userID: UInt32, in file: Data) -> String? {
        entries(in: file).first { $0.id == userID }
            .flatMap { String(bytes: $0.name, encoding: .utf8) }.flatMap { isName($0) ? $0 : nil }
    }

    private static func isName(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && !["+", "-", "#"].contains(name.first)
    }

    /// In order; a line without a number is somebody whom nobody is.
    private static func entries(in file: Data) -> [(name: Data, id: UInt32?)] {
        guard file.count <= largestFile else { return [] }
        return file.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard fields.count == 7 else { return nil }
            let isNumber = fields[2].allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            return (fields[0], isNumber ? String(bytes: fields[2], encoding: .utf8).flatMap(UInt32.init) : nil)
        }
    }
}
