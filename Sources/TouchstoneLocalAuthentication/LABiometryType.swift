internal import TouchstoneCore

/// The sensor that the device has (CE-06).
public enum LABiometryType: Int, Sendable {
    /// None.
    case none = 0
    /// A fingerprint reader.
    case touchID = 1
    /// A camera that knows faces.
    case faceID = 2
    /// A camera that knows eyes.
    case opticID = 4

    /// Old name of `none`.
    public static var LABiometryNone: LABiometryType { .none }

    init(_ value: BiometryType) {
        switch value {
        case .none: self = .none
        case .touchID: self = .touchID
        case .faceID: self = .faceID
        case .opticID: self = .opticID
        }
    }
}
