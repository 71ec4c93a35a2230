public import ArgumentParser
public import BridgeCore

/// What using a key takes, as options of the commands that make one: `--user-presence` and so on.
public enum Asks: EnumerableFlag, Sendable {
    case userPresence, biometryOnly, currentFingers, passcode, noPrompt

    /// The same for the enclave.
    public var protection: KeyProtection {
        switch self {
        case .userPresence: .userPresence
        case .biometryOnly: .biometry
        case .currentFingers: .currentFingers
        case .passcode: .passcode
        case .noPrompt: .nothing
        }
    }

    /// Says what a person has to know of a key that was just made.
    public func warn() {
        if self == .noPrompt { print("Any program of yours can use this key, without asking you.") }
    }
}
