/// Why an answer of an authenticator is not taken.
///
/// The raw values are for logs. Nothing of the answer is in them.
public enum WebAuthnRefusal: String, Error, Hashable, Sendable, CaseIterable {
    /// What the browser says is no JSON of this kind.
    case clientDataForm
    /// It is an answer to another question: a registration for a sign-in, or the other way round.
    case ceremony
    /// It answers another challenge.
    case challenge
    /// It was given to a page of another site.
    case origin
    /// It was given to a page in another site's frame.
    case crossOrigin
    /// The attestation object is no canonical CBOR, or has other fields.
    case attestationForm
    /// An attestation with certificates, which nobody asked for.
    case attestationFormat
    /// The new key did not sign its own attestation.
    case attestationSignature
    /// The authenticator data is too short, too long, or not canonical.
    case authenticatorDataForm
    /// The authenticator was asked for another site.
    case relyingParty
    /// Nobody touched the authenticator.
    case userNotPresent
    /// The authenticator did not verify its owner.
    case userNotVerified
    /// A backup of a key that cannot be backed up.
    case backupState
    /// A registration without a credential.
    case noCredential
    /// Another algorithm than ES256.
    case algorithm
    /// No point of P-256 in the one form that COSE has for it.
    case keyForm
    /// The signature is not this key's, or not DER.
    case signature
    /// The counter did not rise: somebody has a copy of the authenticator.
    case counter
}
