/// An object of the Secret Service, by its path on the bus (SS-1).
public enum SecretPath: Hashable, Sendable {
    /// The service itself.
    case service
    /// A collection, by its name.
    case collection(String)
    /// An item of a collection.
    case item(collection: String, item: String)
    /// Another name of a collection, which is an object of its own (SS-5).
    case alias(String)
    /// An item, below an alias of its collection.
    case aliasItem(alias: String, item: String)
    /// A session.
    case session(String)
    /// A prompt.
    case prompt(String)

    private static let root = "/org/freedesktop/secrets"
    private static let longest = 255

    /// The object of a path; nil where a path is of none of them.
    ///
    /// - Parameter text: As it came over the bus.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.hasPrefix(Self.root) else { return nil }
        let rest = text.dropFirst(Self.root.count)
        guard !rest.isEmpty else {
            self = .service
            return
        }
        let parts = rest.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 2, parts[0].isEmpty, parts.dropFirst().allSatisfy(Self.isElement) else { return nil }
        switch (parts[1], parts.count) {
        case ("collection", 3): self = .collection(parts[2])
        case ("collection", 4): self = .item(collection: parts[2], item: parts[3])
        case ("aliases", 3): self = .alias(parts[2])
        case ("aliases", 4): self = .aliasItem(alias: parts[2], item: parts[3])
        case ("session", 3): self = .session(parts[2])
        case ("prompt", 3): self = .prompt(parts[2])
        default: return nil
        }
    }

    /// The path on the bus.
    public var text: String {
        switch self {
        case .service: Self.root
        case .collection(let name): "\(Self.root)/collection/\(name)"
        case .item(let collection, let item): "\(Self.root)/collection/\(collection)/\(item)"
        case .alias(let name): "\(Self.root)/aliases/\(name)"
        case .aliasItem(let alias, let item): "\(Self.root)/aliases/\(alias)/\(item)"
        case .session(let name): "\(Self.root)/session/\(name)"
        case .prompt(let name): "\(Self.root)/prompt/\(name)"
        }
    }

    /// Looks at one element of a path.
    ///
    /// - Parameter text: The element.
    /// - Returns: Whether it has letters, digits and `_` alone, and at least one of them.
    public static func isElement(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// A new name, that nobody can guess: 26 characters of base32.
    public static func newName() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var generator = SystemRandomNumberGenerator()
        // The generator is the system's, which is asked once for twelve letters.
        let random = (0..<3).map { _ in generator.next() }
        return String(
            decoding: (0..<26).map { letters[Int(random[$0 / 12] >> (5 * UInt64($0 % 12)) & 31)] }, as: UTF8.self)
    }
}
