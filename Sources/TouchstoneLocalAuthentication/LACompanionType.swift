/// A kind of device that may answer in the owner's place.
///
/// This device has no companions.
public enum LACompanionType: Int, Sendable {
    /// A watch.
    case watch = 1
    /// A Mac.
    case mac = 2
    /// A headset.
    case vision = 4
}
