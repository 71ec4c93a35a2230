internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneKeyAlgorithms

/// An algorithm that keys are used with.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, Sendable {
    private let identifier: String

    /// Names an algorithm.
    ///
    /// - Parameter rawValue: Apple's text for it. Any other is an algorithm that no key supports.
    public init(rawValue: CFString) { identifier = rawValue as String }

    init(_ identifier: String) { self.identifier = identifier }

    /// Apple's text for it.
    public var rawValue: CFString { identifier as NSString }

    var algorithm: KeyAlgorithm? { KeyAlgorithm(identifier: identifier) }
}

/// A parameter of a key exchange.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    private let name: String

    /// Names a parameter.
    ///
    /// - Parameter rawValue: Apple's text for it.
    public init(rawValue: CFString) { name = rawValue as String }

    /// Apple's text for it, the key in a dictionary of parameters.
    public var rawValue: CFString { name as NSString }

    /// How many bytes to derive, a number.
    public static let requestedSize = SecKeyKeyExchangeParameter(rawValue: "requestedSize")
    /// What goes into every hash of the derivation, data.
    public static let sharedInfo = SecKeyKeyExchangeParameter(rawValue: "sharedInfo")
}

/// What is done with a key.
public enum SecKeyOperationType: CFIndex, Sendable {
    /// Making a signature.
    case sign = 0
    /// Holding a signature against what was signed.
    case verify = 1
    /// Encrypting.
    case encrypt = 2
    /// Decrypting.
    case decrypt = 3
    /// Agreeing on a secret with the holder of another key.
    case keyExchange = 4

    var operation: KeyOperation {
        switch self {
        case .sign: .sign
        case .verify: .verify
        case .encrypt: .encrypt
        case .decrypt: .decrypt
        case .keyExchange: .keyExchange
        }
    }
}
