/// A secret that an app gives to a context.
public enum LACredentialType: Int, Sendable {
    /// A password of the app's own (EV-60).
    case applicationPassword = 0
    /// The PIN of a smart card, of which this device has none.
    case smartCardPIN = -3
}
