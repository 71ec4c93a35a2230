internal import Foundation

/// JSON of strangers, with a limit to how deep it goes.
enum JSONText {
    /// Deepest nesting of objects and arrays.
    static let maximumDepth = 8

    /// The object that a text is; nil where it is something else or goes deeper.
    static func object(_ bytes: [UInt8]) -> [String: Any]? {
        guard isShallow(bytes) else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
    }

    static func isShallow(_ bytes: [UInt8]) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString, UInt8(ascii: "[") where !isInString: depth += 1
            case UInt8(ascii: "}") where !isInString, UInt8(ascii: "]") where !isInString: depth -= 1
            default: break
            }
            if depth > maximumDepth { return false }
        }
        return true
    }
}
