public import Foundation

/// Why an evaluation ended without success.
///
/// What the API hands out are `NSError`s in `LAErrorDomain`, as on Apple's platforms, and this type is a view of one: `error as?
/// LAError`, `catch LAError.userCancel` and `error as NSError` all work.
public struct LAError: _BridgedStoredNSError {
    /// The error underneath.
    public let _nsError: NSError

    /// Wraps an error.
    ///
    /// - Parameter error: An error in `LAErrorDomain`.
    public init(_nsError error: NSError) {
        precondition(error.domain == LAErrorDomain, "not an error of LocalAuthentication")
        _nsError = error
    }

    /// The domain of these errors.
    public static var errorDomain: String { LAErrorDomain }
    /// The domain of these errors.
    public static var _nsErrorDomain: String { LAErrorDomain }
}

/// Foundation's casts from `NSError` go through this on Linux.
extension LAError: _ObjectiveCBridgeable {
    /// The error as an object.
    ///
    /// - Returns: The error underneath.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Bridges an error that must be one of ours.
    ///
    /// - Parameters:
    ///   - source: The error.
    ///   - result: Takes the view of it.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        result = LAError(_nsError: source)
    }

    /// Bridges an error if it is one of ours.
    ///
    /// - Parameters:
    ///   - source: The error.
    ///   - result: Takes the view of it, or nil.
    /// - Returns: Whether its domain is `LAErrorDomain`.
    @discardableResult
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        result = source.domain == LAErrorDomain ? LAError(_nsError: source) : nil
        return result != nil
    }

    /// Bridges an error that must be one of ours.
    ///
    /// - Parameter source: The error.
    /// - Returns: The view of it.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        guard let source else { preconditionFailure("no error to bridge") }
        return LAError(_nsError: source)
    }
}
