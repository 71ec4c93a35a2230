internal import CPostgreSQL
import Foundation

/// Where a PostgreSQL server is, and as whom: `postgresql://USER@HOST[:PORT]/DATABASE`, or `host=… user=… dbname=…`.
///
/// A password stands in no address (SY-31). TLS with the server's name checked is required, except on this machine.
struct PostgreSQLAddress: Sendable {
    /// Bytes of an address.
    static let longest = 2048
    /// Settings that an address may have; `sslrootcert` is a file of certificates.
    private static let allowed: Set = ["host", "port", "user", "dbname", "sslrootcert"]
    /// Debian's file of the authorities that the machine trusts.
    private static let machineAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    /// In libpq's words, all that it would otherwise take from its environment or from files.
    let settings: [(keyword: String, value: String)]

    init(_ text: String) throws(StoreError) {
        guard text.utf8.count <= Self.longest, !text.utf8.contains(0) else {
            throw .configuration("an address has at most \(Self.longest) bytes")
        }
        var found = try Self.parse(text)
        for keyword in found.keys.sorted() where !Self.allowed.contains(keyword) {
            let reason =
                ["password", "passfile", "sslkey"].contains(keyword)
                ? ", because credentials are items of the keychain" : ""
            throw .configuration(
                "a store's address has no \(keyword)\(reason); it has \(Self.allowed.sorted().joined(separator: ", "))")
        }
        guard let host = found["host"], found["user"] != nil, found["dbname"] != nil else {
            throw .configuration(
                "a store's address names a host, a user and a database: postgresql://USER@HOST/DATABASE")
        }
        guard !host.contains(",") else { throw .configuration("a store's address names one host, and not \(host)") }
        let isSocket = host.hasPrefix("/") || host.hasPrefix("@")
        if isSocket {
            found["sslmode"] = "disable"
        } else if Self.isThisMachine(host) {
            found["sslmode"] = "prefer"
        } else {
            found["sslmode"] = "verify-full"
            found["sslrootcert"] = found["sslrootcert"] ?? Self.machineAuthorities
        }
        settings =
            found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            + [
                ("port", found["port"] ?? "5432"), ("gssencmode", "disable"), ("client_encoding", "UTF8"),
                // A file that cannot be there: libpq would look into ~/.pgpass.
                ("passfile", "/dev/null/none"), ("service", ""), ("options", ""), ("sslcert", "/dev/null/none"),
                ("application_name", "touchstone-sync"), ("target_session_attrs", "read-write"),
                ("connect_timeout", "10"), ("keepalives_idle", "30"), ("keepalives_interval", "10"),
                ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
            ].filter { found[$0.0] == nil }
    }

    /// Whether what is sent there stays on this machine.
    static func isThisMachine(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return host == "localhost" || host == "::1"
            || parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    private static func parse(_ text: String) throws(StoreError) -> [String: String] {
        guard let options = unsafe PQconninfoParse(text, nil) else {
            // libpq's words would repeat the text.
            throw .configuration("the address of a PostgreSQL store is postgresql://USER@HOST[:PORT]/DATABASE")
        }
        defer { unsafe PQconninfoFree(options) }
        var found: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val { unsafe found[String(cString: keyword)] = String(cString: value) }
            unsafe option += 1
        }
        return found
    }
}
