import Foundation

/// A name as it is compared: NFKC, lower case, without space around it.
public enum AccountName {
    /// Nil if it has no characters, more than 128 of them, or control characters.
    public static func normalized(_ name: String) -> String? {
        let normal = name.precomposedStringWithCompatibilityMapping.lowercased()
            .precomposedStringWithCompatibilityMapping.trimmingCharacters(in: .whitespacesAndNewlines)
        guard (1...128).contains(normal.count), normal.utf8.count <= 512 else { return nil }
        guard normal.unicodeScalars.allSatisfy({ !CharacterSet.controlCharacters.contains($0) }) else { return nil }
        return normal
    }
}
