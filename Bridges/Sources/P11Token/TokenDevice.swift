/// What the token takes a device for.
///
/// Each call may wait: for the device, and ``sign(_:with:)`` for its owner, too.
public protocol TokenDevice {
    /// What tells this token from others, 16 characters; the same as long as the device lives.
    ///
    /// - Throws: `TokenFailure.away`.
    func serialNumber() throws(TokenFailure) -> String

    /// The keys that there are now.
    ///
    /// - Throws: `TokenFailure.away`.
    func keys() throws(TokenFailure) -> [TokenKey]

    /// Has the enclave sign, after the owner said yes.
    ///
    /// - Parameters:
    ///   - digest: 32 bytes.
    ///   - key: One of ``keys()``.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: `TokenFailure`.
    func sign(_ digest: [UInt8], with key: TokenKey) throws(TokenFailure) -> [UInt8]

    /// Has the enclave make a key.
    ///
    /// - Parameters:
    ///   - label: What it is called; nil for a name of the device's choice.
    ///   - identifier: What its objects have in common; nil for the SHA-1 of its point.
    /// - Returns: The key, which ``keys()`` has from now on.
    /// - Throws: `TokenFailure`: `.taken`, `.full` and what any call throws. There is no new key then.
    func makeKey(label: String?, identifier: [UInt8]?) throws(TokenFailure) -> TokenKey
}

/// Why a device did not do what was asked.
public enum TokenFailure: Error, Hashable, Sendable, CaseIterable {
    /// The owner said no.
    case cancelled
    /// The owner did not show who they are, or the device refuses it.
    case denied
    /// The device is locked, and was not unlocked when its owner was asked.
    case locked
    /// Nobody could show the owner a prompt, or nobody answered it.
    case unavailable
    /// The key can never be used again.
    case dead
    /// The device does not answer.
    case away
    /// There is a key of this name already, or this cannot be a name.
    case taken
    /// There are as many keys as there may be.
    case full
}
