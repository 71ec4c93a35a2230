/// Sealed secrets that were stored or read recently, so that a program that asks again does not wait for the device (SS-21).
///
/// They are as the keychain keeps them, but without a copy of their items' keys. So nobody can open them without these.
public struct RecentSecrets: Sendable {
    /// The most bytes of all of them together.
    public static let most = 4 << 20

    private var secrets: [String: SealedSecret] = [:]
    private var bytes = 0

    /// Makes one without any secret.
    public init() {}

    /// The sealed secret of an item; nil if it is not among them.
    public subscript(item: String) -> SealedSecret? { secrets[item] }

    /// Notes a sealed secret; if there is no room, the others are forgotten.
    ///
    /// - Parameters:
    ///   - sealed: As the keychain keeps it. One of more than ``most`` bytes is not noted.
    ///   - item: The name of its item.
    public mutating func put(_ sealed: SealedSecret, of item: String) {
        remove(item)
        guard sealed.count <= Self.most else { return }
        if bytes + sealed.count > Self.most { self = RecentSecrets() }
        secrets[item] = sealed.withoutCopy
        bytes += sealed.count
    }

    /// Forgets the sealed secret of an item.
    public mutating func remove(_ item: String) { bytes -= secrets.removeValue(forKey: item)?.count ?? 0 }
}
