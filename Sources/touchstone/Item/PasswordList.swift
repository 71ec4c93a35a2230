import Foundation

/// The passwords of a file that another program exported.
struct PasswordList {
    /// Who wrote it.
    enum Source: String {
        case keePassXC = "KeePassXC"
        case onePassword = "1Password"
        case bitwarden = "Bitwarden"
        case touchstone = "Touchstone"
    }

    struct Password: Equatable {
        /// Of the file, from 1.
        var line: Int
        var name: ItemName
        var label: String
        var secret: String
    }

    /// Which column has what.
    private struct Columns {
        var title: Int
        var address: Int
        var account: Int
        var secret: Int
        /// Only rows that say "login" here are passwords.
        var kind: Int?
        /// What is not imported.
        var more: [Int]
    }

    /// What an account is called that has no name.
    static let namelessAccount = "default"

    let source: Source
    private(set) var all: [Password] = []
    /// What is not imported, and why, without a secret.
    private(set) var leftOut: [(line: Int, reason: String)] = []
    /// How many of ``all`` have more than is imported.
    private(set) var withMore = 0

    init(_ table: CSVTable) throws(CSVError) {
        guard let header = table.rows.first else { throw .empty }
        guard let (source, columns) = Self.columns(header.fields.map { $0.lowercased() }) else { throw .unknownHeader }
        self.source = source
        for row in table.rows.dropFirst() {
            guard row.fields.count == header.fields.count else { throw .columns(line: row.line) }
            add(row, columns)
        }
    }

    private static func columns(_ header: [String]) -> (Source, Columns)? {
        func column(_ names: String...) -> Int? { header.firstIndex { names.contains($0) } }
        func more(_ names: String...) -> [Int] { header.indices.filter { names.contains(header[$0]) } }
        if let title = column("name"), let address = column("login_uri"), let account = column("login_username"),
            let secret = column("login_password")
        {
            let columns = Columns(
                title: title, address: address, account: account, secret: secret, kind: column("type"),
                more: more("notes", "fields", "login_totp"))
            return (.bitwarden, columns)
        }
        guard let title = column("title"), let address = column("url", "website"), let account = column("username"),
            let secret = column("password")
        else { return nil }
        let source: Source =
            header == exportedColumns.map { $0.lowercased() }
            ? .touchstone : column("group") == nil ? .onePassword : .keePassXC
        let columns = Columns(
            title: title, address: address, account: account, secret: secret,
            more: more("notes", "totp", "otpauth"))
        return (source, columns)
    }

    private mutating func add(_ row: CSVTable.Row, _ columns: Columns) {
        func field(_ column: Int) -> String { row.fields[column].trimmingCharacters(in: .whitespacesAndNewlines) }
        func leaveOut(_ reason: String) { leftOut.append((row.line, reason)) }
        if let kind = columns.kind, field(kind) != "login" { return leaveOut("it is not a password") }
        // As it is: white space may be a part of it.
        let secret = row.fields[columns.secret]
        guard !secret.isEmpty else { return leaveOut("it has no password") }
        let title = field(columns.title)
        let service = Self.host(field(columns.address)) ?? title
        let account = field(columns.account)
        let name = ItemName(service: service, account: account.isEmpty ? Self.namelessAccount : account)
        guard let name, title.utf8.count <= ItemName.maximumPartBytes else {
            return leaveOut("its title, address or user is missing, too long, or has a control character")
        }
        if columns.more.contains(where: { !field($0).isEmpty }) { withMore += 1 }
        all.append(Password(line: row.line, name: name, label: title.isEmpty ? service : title, secret: secret))
    }

    /// The host of an address, in lower case and without `www.`; nil if it has none.
    static func host(_ address: String) -> String? {
        // Several addresses: the first.
        let first = address.split(whereSeparator: { $0 == "," || $0.isWhitespace }).first.map(String.init) ?? ""
        let url = first.contains("://") ? first : "https://\(first)"
        guard let host = URLComponents(string: url)?.host?.lowercased(), host.contains(where: { $0 != "." }) else {
            return nil
        }
        return host.hasPrefix("www.") && host.count > 4 ? String(host.dropFirst(4)) : host
    }

    // MARK: Writing

    private static let exportedColumns = ["Title", "URL", "Username", "Password"]

    /// The first line of a file that `touchstone item export` writes.
    ///
    /// 1Password and Apple's Passwords have columns of these names, and other programs ask which column is what.
    static let firstLine = Data((exportedColumns.joined(separator: ",") + "\r\n").utf8)

    /// The line of one password.
    ///
    /// ``init(_:)`` reads the same name and secret from it, but for white space at the ends of a name. A service that
    /// is no host is the title, because there is no other column for it. Then the label is not in the file.
    ///
    /// - Returns: nil if the secret is no text in UTF-8.
    static func line(_ name: ItemName, label: String, secret: UnsafeRawBufferPointer) -> Data? {
        guard unsafe (try? UTF8Span(validating: secret.bindMemory(to: UInt8.self).span)) != nil else { return nil }
        let isHost = host(name.service) == name.service
        let account = name.account == namelessAccount ? "" : name.account
        let words = [isHost ? label : name.service, isHost ? "https://\(name.service)" : "", account]
        return unsafe CSVTable.line(words, secret: secret)
    }
}
