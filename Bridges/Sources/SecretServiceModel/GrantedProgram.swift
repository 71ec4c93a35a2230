/// A program as a grant names it (BR-31).
public struct GrantedProgram: Hashable, Sendable, Decodable {
    /// The name of its grants' rows: one text for the other two.
    public var row: String
    /// Where its file is.
    public var path: String
    /// SHA-256 of its file, in hexadecimal digits; nil if only root can change that.
    public var digest: String?

    /// Names a program.
    public init(row: String, path: String, digest: String? = nil) {
        self.row = row
        self.path = path
        self.digest = digest
    }

    /// The frontend of the portals, for the secrets of sandboxed programs alone (PO-3).
    public static let portal = GrantedProgram(row: "portal", path: "the Secret portal")

    /// Whether both have the same row.
    public static func == (one: GrantedProgram, other: GrantedProgram) -> Bool { one.row == other.row }

    /// Hashes the row.
    public func hash(into hasher: inout Hasher) { hasher.combine(row) }
}
