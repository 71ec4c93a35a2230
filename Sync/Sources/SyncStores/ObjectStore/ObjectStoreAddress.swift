import Foundation

/// Where a bucket of an S3-compatible object store is: `https://HOST[:PORT]/BUCKET[/PREFIX]?region=REGION`.
///
/// Credentials stand in no address, and https is required, except on this machine (SY-31).
struct ObjectStoreAddress: Sendable {
    /// Bytes of an address.
    static let longest = 1024

    let scheme: String
    /// With the port, where it is not the scheme's own: as in the header Host.
    let host: String
    let bucket: String
    /// Empty, or with a slash behind it.
    let prefix: String
    let region: String

    init(_ text: String) throws(StoreError) {
        let form = "https://HOST[:PORT]/BUCKET[/PREFIX]?region=REGION"
        guard text.utf8.count <= Self.longest, let parts = URLComponents(string: text), let host = parts.host,
            let scheme = parts.scheme, !host.isEmpty
        else { throw .configuration("the address of an object store is \(form)") }
        guard parts.user == nil, parts.password == nil, parts.fragment == nil else {
            throw .configuration("an object store's address has no credentials, because they are items of the keychain")
        }
        guard scheme == "https" || scheme == "http" && PostgreSQLAddress.isThisMachine(host) else {
            throw .configuration("an object store is reached by https; http is for this machine alone")
        }
        guard let query = parts.queryItems, query.count == 1, query[0].name == "region", let region = query[0].value,
            Self.isName(region)
        else { throw .configuration("an object store's address ends with its region: \(form)") }
        let path = parts.percentEncodedPath.split(separator: "/")
        guard let bucket = path.first, path.allSatisfy(Self.isName) else {
            throw .configuration("a bucket and its prefix have letters, digits, - _ and . alone: \(form)")
        }
        (self.scheme, self.bucket, self.region) = (scheme, String(bucket), region)
        self.host = parts.port.map { "\(host):\($0)" } ?? host
        prefix = path.dropFirst().map { "\($0)/" }.joined()
    }

    /// What needs no percent sign in a path, and is no step up.
    private static func isName(_ text: some StringProtocol) -> Bool {
        1...255 ~= text.utf8.count && text.contains { $0 != "." }
            && text.utf8.allSatisfy { RequestSignature.unreserved.contains($0) && $0 != UInt8(ascii: "~") }
    }
}
