/// The version of the programs of this package, which is that of the root package (`TouchstoneVersion`, which other packages do not see).
public enum BridgeVersion {
    /// Major, minor and patch.
    public static let current = "0.1.0"
}
