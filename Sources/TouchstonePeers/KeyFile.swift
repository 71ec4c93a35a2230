package import Foundation

/// Groups of `key=value` lines, as the Desktop Entry Specification and GLib's key files have them: without localised keys and without escapes.
package struct KeyFile: Hashable, Sendable {
    /// Why a text is no key file.
    package struct Malformed: Error, Hashable, CustomStringConvertible {
        package var description: String
    }

    private var groups: [String: [String: String]] = [:]

    /// - Throws: `Malformed`, with the line. A group or a key that stands twice is malformed: readers differ in which of them counts.
    package init(_ bytes: Data) throws(Malformed) {
        var group: String?
        for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        {
            func malformed(_ reason: String) -> Malformed { .init(description: "line \(number + 1) \(reason)") }
            guard let text = String(bytes: line, encoding: .utf8) else { throw malformed("is not UTF-8") }
            let line = text.trimmingCharacters(in: .whitespaces)
            guard !line.unicodeScalars.contains(where: { $0.properties.generalCategory == .control && $0 != "\t" })
            else { throw malformed("has a control character") }
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = String(line.dropFirst().dropLast())
                guard groups[name] == nil else { throw malformed("begins [\(name)] again") }
                groups[name] = [:]
                group = name
                continue
            }
            guard let equals = line.firstIndex(of: "=") else { throw malformed("is not key=value") }
            guard let group else { throw malformed("stands before the first group") }
            let key = line[..<equals].trimmingCharacters(in: .whitespaces)
            let value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            guard !key.isEmpty else { throw malformed("has no key") }
            guard groups[group]?.updateValue(value, forKey: key) == nil else { throw malformed("says \(key) again") }
        }
    }

    package var groupNames: Set<String> { Set(groups.keys) }

    package subscript(group: String) -> [String: String]? { groups[group] }
}
