internal import BridgeJSON
public import Foundation

/// What an item says about itself, without its secret (SS-20, SS-22).
public struct ItemDescription: Hashable, Sendable, Decodable {
    /// The name of its collection.
    public var collection: String
    /// What it is found by.
    public var attributes: [String: String]
    /// Of its secret, as the client gave it.
    public var contentType: String
    /// The path of the program that stored it; nil of one that nobody knows.
    public var maker: String?
    /// Whom the copy of the key in the item's own row is for; nil if it has no copy (SS-30).
    public var grantee: GrantedProgram?
    /// When it was made elsewhere, in seconds since 1970, before it was brought here; nil of one that was made here.
    public var created: UInt64?
    /// When it was changed elsewhere, or before its grant was revoked; nil from the first change after that.
    public var modified: UInt64?
    /// How many bytes its sealed secret has; nil of one from before that was noted.
    public var secretBytes: Int?

    /// Describes an item.
    public init(
        collection: String, attributes: [String: String], contentType: String, maker: String?,
        grantee: GrantedProgram? = nil, created: UInt64? = nil, modified: UInt64? = nil
    ) {
        self.collection = collection
        self.attributes = attributes
        self.contentType = contentType
        self.maker = maker
        self.grantee = grantee
        self.created = created
        self.modified = modified
    }

    /// The most that is kept (SS-22).
    public enum Limits {
        /// Bytes of one name, value or label.
        public static let text = 1 << 10
        /// Attributes of one item.
        public static let attributes = 64
        /// Bytes of all attributes of one item.
        public static let allText = 16 << 10
        /// Bytes of what is kept: JSON writes a control character as six.
        static let kept = 160 << 10
        /// Bytes of a secret.
        public static let secret = 256 << 10
        /// Items.
        public static let items = 50_000
        /// Items that one program stored.
        public static let ownItems = 2000
        /// Bytes of what is kept of them.
        public static let ownBytes = 16 << 20
        /// Items of the session, which are in memory.
        public static let sessionItems = 4096
        /// Items of the session that one program has.
        public static let ownSessionItems = 256
        /// Bytes of their secrets.
        public static let ownSessionBytes = 4 << 20
        /// Collections that clients made.
        public static let collections = 32
        /// Collections that one program made.
        public static let ownCollections = 4
        /// Aliases that clients set.
        public static let aliases = 16
        /// Aliases that one program set.
        public static let ownAliases = 4
    }

    /// Compares attributes with the limits.
    ///
    /// - Parameter attributes: As a client gave them.
    /// - Returns: Whether they are within the limits.
    public static func allows(_ attributes: [String: String]) -> Bool {
        attributes.count <= Limits.attributes
            && attributes.allSatisfy { $0.key.utf8.count <= Limits.text && $0.value.utf8.count <= Limits.text }
            && attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= Limits.allText
    }

    /// Reads what was kept; nil where it is malformed, or beyond the limits.
    ///
    /// - Parameter kept: As ``kept`` gave it.
    public init?(_ kept: Data) {
        guard kept.count <= Limits.kept, let read = try? JSONDecoder().decode(ItemDescription.self, from: kept),
            SecretPath.isElement(read.collection), Self.allows(read.attributes)
        else { return nil }
        self = read
    }

    /// What is kept.
    public var kept: Data {
        var (json, texts) = (JSONObject(), JSONObject())
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) { texts.add(name, value) }
        json.add("attributes", texts)
        json.add("collection", collection)
        json.add("contentType", contentType)
        json.add("created", created)
        json.add("grantee", grantee.map(Self.object))
        json.add("maker", maker)
        json.add("modified", modified)
        json.add("secretBytes", secretBytes)
        return json.data
    }

    private static func object(_ program: GrantedProgram) -> JSONObject {
        var json = JSONObject()
        json.add("digest", program.digest)
        json.add("path", program.path)
        json.add("row", program.row)
        return json
    }

    /// Its schema, which older clients read as a property (SS-2).
    public var type: String {
        attributes["xdg:schema"].flatMap { $0.isEmpty ? nil : $0 } ?? "org.freedesktop.Secret.Generic"
    }
}
