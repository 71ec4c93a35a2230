import Foundation

@testable import Command

private func csv(_ bytes: Data) {
    let bytes = Array(bytes)
    guard let table = unlessRefused([CSVError.self], { try CSVTable(bytes) }) else { return }
    hold(table.rows.count <= CSVTable.maximumRows, "more rows than may be")
    // What is written with every field in quotation marks is read as the same.
    let text = table.rows.map { row in
        row.fields.map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: ",")
    }.joined(separator: "\r\n")
    if let echo = unlessRefused([CSVError.self], { try CSVTable(Array(text.utf8)) }) {
        // Two quotation marks alone are an empty line, which is no row.
        hold(echo.rows.map(\.fields) == table.rows.map(\.fields), "another table")
    }
    guard let list = unlessRefused([CSVError.self], { try PasswordList(table) }) else { return }
    hold(list.all.count + list.leftOut.count == table.rows.count - 1, "a row that nobody speaks of")
    for password in list.all {
        hold(!password.secret.isEmpty && table.rows.contains { $0.line == password.line }, "a password of no row")
        hold(password.name.reference.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a reference that is not plain")
        // What is exported is imported again.
        let line = Array(password.secret.utf8).withUnsafeBytes {
            PasswordList.line(password.name, label: password.label, secret: $0)
        }
        guard let line else { broken("a text that is not exported") }
        let again = unlessRefused([CSVError.self]) { try PasswordList(CSVTable(Array(PasswordList.firstLine + line))) }
        hold(
            again?.all.map { [$0.name.reference, $0.secret] } == [[password.name.reference, password.secret]],
            "another password")
    }
}

let itemTargets = [
    FuzzTarget(name: "csv", run: csv) {
        [
            // KeePassXC, 1Password, Bitwarden
            "\u{FEFF}\"Group\",\"Title\",\"Username\",\"Password\",\"URL\",\"Notes\",\"TOTP\",\"Icon\",\"Last Modified\",\"Created\"\r\n"
                + "\"Root\",\"GitHub\",\"me\",\"a, \"\"b\"\"\",\"https://github.com\",\"n\r\nm\",\"\",\"0\",\"\",\"\"\r\n",
            "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\nMail,mail.example.org,me,x,,false,false,,\n",
            "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp\n"
                + ",,login,Bank,,,0,\"https://a.example,https://b.example\",me,x,\n,,note,N,text,,0,,,,\n",
            "a,\"b\"c", "\"a", "a\rb,c\n\n\r\n", "title,url,username,password\na,b,c\n",
        ].map { Data($0.utf8) }
    }
]
