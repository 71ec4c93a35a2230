/// A saved right, with a key and perhaps a secret that can be used only while it is authorised.
///
/// The key never leaves the enclave. Only what the owner has proven to this right, as the enclave knows it, lets it be used. No state of
/// this object opens anything.
///
/// > Source: EV-64, AC-50...AC-52.
///
/// > Concurrency: As `LARight`.
public class LAPersistedRight: LARight {
    let stored: StoredRight

    /// The key pair of the right: P-256.
    public let key: LAPrivateKey
    /// The secret that was saved with the right.
    public let secret: LASecret

    init(_ stored: StoredRight) {
        self.stored = stored
        key = LAPrivateKey(stored)
        secret = LASecret(stored)
        super.init(stored.authorization)
    }
}
