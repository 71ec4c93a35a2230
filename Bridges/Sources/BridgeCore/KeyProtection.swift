/// What using a key takes (SA-21).
public enum KeyProtection: String, Codable, Sendable, CaseIterable {
    /// A finger or a face, or the passcode.
    case userPresence
    /// A finger or a face.
    case biometry
    /// A finger or a face of those that are enrolled when the key is made.
    case currentFingers
    case passcode
    /// Nothing: any program of yours can use it.
    case nothing

    /// Bits of SecAccessControlCreateFlags, with privateKeyUsage.
    var flags: Int {
        let usage = 1 << 30
        return switch self {
        case .userPresence: usage | 1
        case .biometry: usage | 2
        case .currentFingers: usage | 8
        case .passcode: usage | 16
        case .nothing: usage
        }
    }
}
