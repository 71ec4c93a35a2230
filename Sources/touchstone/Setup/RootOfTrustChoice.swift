/// What a new device can be bound to here: all that this build and this machine can do, worst first.
enum RootOfTrustChoice: CaseIterable {
    case software

    /// The one that a new device should have.
    static var best: RootOfTrustChoice { available.last ?? .software }

    static var available: [RootOfTrustChoice] { allCases }

    /// For people.
    var title: String {
        switch self {
        case .software: "a key file"
        }
    }

    /// What it is worth.
    var worth: String {
        switch self {
        case .software:
            "Whoever copies the device's directory can guess its passcode elsewhere, as fast as they like. Choose a long one."
        }
    }
}
