/// What git says to a credential helper, and what the helper answers: lines `key=value`, until an empty line or the end (GC-10).
///
/// Keys that this type does not have are ignored, and so are those that may repeat (`wwwauth[]`).
public struct GitCredential: Equatable, Sendable {
    /// Most bytes that are read.
    public static let maximumCount = 64 << 10

    /// `https`, `http` and so on.
    public var scheme: String?
    /// With its port, where one was given.
    public var host: String?
    /// Without the slash before it.
    ///
    /// git sends it only with `credential.useHttpPath`.
    public var path: String?
    /// Who signs in.
    public var username: String?
    /// Bytes: git does not say in which encoding.
    public var password: [UInt8]?
    /// When the password ends, in seconds since 1970.
    public var passwordExpiry: Int64?
    /// What a new password is had for.
    public var refreshToken: [UInt8]?

    /// An empty one.
    public init() {}

    /// Reads what git wrote.
    ///
    /// - Parameter bytes: What stands before an empty line counts.
    /// - Throws: `GitCredentialError`, for everything that GC-11 refuses.
    public init(_ bytes: some Collection<UInt8>) throws(GitCredentialError) {
        guard bytes.count <= Self.maximumCount else { throw .tooLong }
        var values: [String: [UInt8]] = [:]
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard !line.contains(where: { $0 == 0 || $0 == 0x0D }) else { throw .controlCharacter }
            guard let equals = line.firstIndex(of: 0x3D), equals != line.startIndex else { throw .malformedLine }
            guard let key = String(validating: line[..<equals], as: UTF8.self) else { throw .malformedLine }
            if key.hasSuffix("[]") { continue }
            let value = Array(line[line.index(after: equals)...])
            guard values[key] == nil || values[key] == value else { throw .repeatedKey }
            values[key] = value
        }
        func text(_ key: String) throws(GitCredentialError) -> String? {
            guard let value = values[key] else { return nil }
            guard let text = String(validating: value, as: UTF8.self) else { throw .malformedValue }
            return text
        }
        scheme = try text("protocol")
        host = try text("host")
        path = try text("path")
        username = try text("username")
        password = values["password"]
        refreshToken = values["oauth_refresh_token"]
        passwordExpiry = try text("password_expiry_utc").flatMap { Int64($0) }
        guard !(host ?? "").unicodeScalars.contains(where: { $0 == "/" || $0.properties.generalCategory == .control })
        else { throw .malformedHost }
    }

    /// What it is written as: only the fields that git reads from an answer.
    ///
    /// - Throws: `GitCredentialError.controlCharacter` if a value has a line feed, a carriage return or NUL: git would read another key.
    public func answer() throws(GitCredentialError) -> [UInt8] {
        let fields: [(String, [UInt8]?)] = [
            ("username", username.map { Array($0.utf8) }), ("password", password),
            ("password_expiry_utc", passwordExpiry.map { Array(String($0).utf8) }),
            ("oauth_refresh_token", refreshToken),
        ]
        var answer: [UInt8] = []
        for case (let key, let value?) in fields {
            guard !value.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) else { throw .controlCharacter }
            answer += Array(key.utf8) + [0x3D] + value + [0x0A]
        }
        return answer
    }
}

/// Why what git wrote is refused (GC-11).
///
/// No case has a word of what was read.
public enum GitCredentialError: Error, Hashable, Sendable, CustomStringConvertible {
    /// More than ``GitCredential/maximumCount`` bytes.
    case tooLong
    /// A carriage return, or NUL; in an answer a line feed as well.
    case controlCharacter
    /// A line without `=`, or without a key.
    case malformedLine
    /// A value that is not UTF-8, where a name is expected.
    case malformedValue
    /// A key twice, with two values.
    case repeatedKey
    /// A host with a control character or a slash, or a port that is not a number.
    case malformedHost

    /// For a person.
    public var description: String {
        switch self {
        case .tooLong: "git sent more than 64 KiB"
        case .controlCharacter: "a value has a line break or a NUL character"
        case .malformedLine: "a line is not of the form key=value"
        case .malformedValue: "a value is not UTF-8"
        case .repeatedKey: "a key is there twice, with two values"
        case .malformedHost: "the host is malformed"
        }
    }
}
