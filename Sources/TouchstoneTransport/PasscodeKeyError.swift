/// Why the enclave's public key cannot be used.
package enum PasscodeKeyError: Error, Hashable {
    /// With this `errno`.
    case unreadable(Int32)
    /// Somebody else could have put another key in its place.
    case writableByOthers
    case malformed
}
