import Foundation
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

@testable import touchstone

/// What a secret is called, EX-10.
struct ItemNameTests {
    @Test(
        arguments: [
            ("github.com", "octocat", "touchstone://github.com/octocat"), ("a b", "c/d", "touchstone://a%20b/c%2Fd"),
            ("ä", "~_-.", "touchstone://%C3%A4/~_-."), ("%", "\u{A0}", "touchstone://%25/%C2%A0"),
        ])
    func aNameHasItsReference(service: String, account: String, reference: String) {
        #expect(ItemName(service: service, account: account)?.reference == reference)
    }

    @Test(arguments: ["", "a\nb", "a\u{0}", "\u{7F}", "\u{85}", String(repeating: "x", count: 257)])
    func aPartThatNoCommandCouldNameIsRefused(part: String) {
        #expect(ItemName(service: part, account: "a") == nil)
        #expect(ItemName(service: "a", account: part) == nil)
    }

    @Test func theLongestPartIsTaken() {
        let part = String(repeating: "x", count: 256)
        #expect(ItemName(service: part, account: part)?.service == part)
    }

    @Test func namesAreComparedByteForByte() {
        let composed = ItemName(service: "\u{E9}", account: "a")
        #expect(composed != ItemName(service: "e\u{301}", account: "a"))
        #expect(composed == ItemName(service: "\u{E9}", account: "a"))
    }
}

/// EX-11.
struct ClipboardTests {
    @Test func theSessionSaysWhichProgramsAreUsed() {
        #expect(Clipboard.Tools.of(["WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"]) == .wayland)
        #expect(Clipboard.Tools.of(["WAYLAND_DISPLAY": "", "DISPLAY": ":0"]) == .x11)
    }

    @Test func withoutADisplayThereIsNoClipboard() {
        #expect(Clipboard.Tools.of([:]) == nil)
        #expect(Clipboard.Tools.of(["DISPLAY": ""]) == nil)
    }
}

/// Why a secret is not released, as a person reads it: EX-10.
struct ItemFailureTests {
    @Test(
        arguments: [
            (RefusalCause.ownerCancelled, Int32(8)), (.missedTooOften, 1), (.noAgent, 69), (.deviceLocked, 5),
            (.biometryLockedOut, 4), (.passcodeNotSet, 5), (.quotaReached, 5),
        ])
    func aRefusalHasItsStatus(cause: RefusalCause, status: Int32) {
        let failed = KeychainInterface.Failed(status: -25293, reason: cause.rawValue)
        #expect(Failure.of(failed, DevicePaths(name: "phone"))?.status.rawValue == status)
    }

    @Test func anUnknownReasonHasNoSentenceOfItsOwn() {
        #expect(Failure.of(KeychainInterface.Failed(status: -36), DevicePaths(name: "phone")) == nil)
        let newer = KeychainInterface.Failed(status: -36, reason: "newer")
        #expect(Failure.of(newer, DevicePaths(name: "phone")) == nil)
    }
}

/// RFC 4180, EX-12.
struct CSVTableTests {
    private func rows(_ text: String) throws -> [[String]] { try CSVTable(Array(text.utf8)).rows.map(\.fields) }

    @Test(
        arguments: [
            ("a,b\nc,d", [["a", "b"], ["c", "d"]]), ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]),
            ("\u{FEFF}a,b\n", [["a", "b"]]), ("\"a,b\",\"c\"\"d\"\n", [["a,b", "c\"d"]]),
            ("\"a\r\nb\",\"\"\n", [["a\r\nb", ""]]), (",\n", [["", ""]]), ("a\n\n\r\nb\n", [["a"], ["b"]]), ("", []),
            ("a,", [["a", ""]]), (" a , b ", [[" a ", " b "]]), ("a\rb,c", [["a\rb", "c"]]),
            ("\"\"\"\"", [["\""]]),
        ])
    func fieldsAreRead(text: String, expected: [[String]]) throws {
        #expect(try rows(text) == expected)
    }

    @Test(
        arguments: [
            ("a\"b", CSVError.quote(line: 1)), ("\"a\"b", .quote(line: 1)), ("x\n\"a\" ,b", .quote(line: 2)),
            ("x\n\"a\nb", .unended(line: 2)), ("\"", .unended(line: 1)), ("\"a\"\"", .unended(line: 1)),
        ])
    func aQuotationMarkInTheWrongPlaceIsRefused(text: String, error: CSVError) {
        #expect(throws: error) { try rows(text) }
    }

    @Test func whatIsNoTextIsRefused() {
        #expect(throws: CSVError.notText) { try CSVTable([0x61, 0xFF]) }
        #expect(throws: CSVError.notText) { try CSVTable([0xFF, 0xFE, 0x61, 0x00]) }
    }

    @Test func aRowSaysWhereItBegins() throws {
        #expect(try CSVTable(Array("a\n\"b\nc\"\n\nd".utf8)).rows.map(\.line) == [1, 2, 5])
    }

    @Test func thereAreLimits() throws {
        let longest = String(repeating: "x", count: CSVTable.maximumFieldBytes)
        #expect(try rows(longest) == [[longest]])
        #expect(throws: CSVError.tooLarge) { try rows(longest + "x") }
        let widest = String(repeating: ",", count: CSVTable.maximumFields - 1)
        #expect(try rows(widest).first?.count == CSVTable.maximumFields)
        #expect(throws: CSVError.tooLarge) { try rows(widest + ",") }
        let most = String(repeating: "a\n", count: CSVTable.maximumRows)
        #expect(try rows(most).count == CSVTable.maximumRows)
        #expect(throws: CSVError.tooLarge) { try rows(most + "a\n") }
        #expect(throws: CSVError.tooLarge) { try CSVTable([UInt8](repeating: 0x61, count: CSVTable.maximumBytes + 1)) }
    }
}

/// What other programs export, EX-12.
struct PasswordListTests {
    private func list(_ text: String) throws -> PasswordList { try PasswordList(CSVTable(Array(text.utf8))) }
    private func named(_ password: PasswordList.Password) -> [String] {
        [password.name.service, password.name.account, password.label, password.secret]
    }

    @Test func keePassXCIsRead() throws {
        let header =
            #""Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created""# + "\n"
        let list = try list(
            header + #""Root/a","GitHub","me"," x ","https://www.GitHub.com:443/login","n","","0","",""\#n"#
                + #""Root","Router","","y","","","","0","",""\#n"#)
        #expect(list.source == .keePassXC)
        #expect(list.all.map(named) == [["github.com", "me", "GitHub", " x "], ["Router", "default", "Router", "y"]])
        #expect(list.withMore == 1)
        #expect(list.leftOut.isEmpty)
    }

    @Test func onePasswordIsRead() throws {
        let header = "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\n"
        let list = try list(header + "Mail,mail.example.org,me@example.org,x,otpauth://totp/x,false,false,,\n")
        #expect(list.source == .onePassword)
        #expect(list.all.map(named) == [["mail.example.org", "me@example.org", "Mail", "x"]])
        #expect(list.withMore == 1)
    }

    @Test func bitwardenIsRead() throws {
        let header =
            "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp\n"
        let list = try list(
            header + #",,login,Bank,,,0,"https://bank.example,https://other.example",me,x,\#n"#
                + ",,note,Secret note,text,,0,,,,\n")
        #expect(list.source == .bitwarden)
        #expect(list.all.map(named) == [["bank.example", "me", "Bank", "x"]])
        #expect(list.leftOut.map(\.line) == [3])
        #expect(list.withMore == 0)
    }

    @Test(arguments: ["a,b,c\n", "title,password\nx,y\n", "name,url,username,password,note\n"])
    func anotherProgramsFileIsRefused(text: String) {
        #expect(throws: CSVError.unknownHeader) { try list(text) }
    }

    @Test func anEmptyOrRaggedFileIsRefused() {
        #expect(throws: CSVError.empty) { try list("") }
        #expect(throws: CSVError.empty) { try list("\n\n") }
        #expect(throws: CSVError.columns(line: 2)) { try list("title,url,username,password\na,b,c\n") }
        #expect(throws: CSVError.columns(line: 3)) { try list("title,url,username,password\na,b,c,d\na,b,c,d,e\n") }
    }

    @Test func aRowWithoutPasswordOrNameIsLeftOut() throws {
        let long = String(repeating: "x", count: 257)
        let list = try list(
            "title,url,username,password\nA,,me,\n,,me,x\nA,,\(long),x\n\(long),a.example,me,x\nB,,me,x\n")
        #expect(list.leftOut.map(\.line) == [2, 3, 4, 5])
        #expect(list.all.map(named) == [["B", "me", "B", "x"]])
    }

    @Test func noMessageHasAWordOfTheFile() throws {
        let list = try list("title,url,username,password\nA,,swordfish,\n")
        #expect(list.leftOut.allSatisfy { !$0.reason.contains("swordfish") })
        for error in [CSVError.tooLarge, .notText, .quote(line: 1), .unended(line: 1), .columns(line: 1)] {
            #expect(!error.description.isEmpty)
        }
    }

    @Test func whatIsExportedIsReadAsTheSame() throws {
        let names = [
            ("github.com", "octo cat"), ("npm/token", "default"), ("www.example.org", "me"), ("localhost:8080", "a,b"),
            ("a \"b\"", "=1+1"), ("Ä", "\u{65}\u{301}"), ("192.0.2.1", "root"), ("GitHub.com", "x"),
            ("https://a.example/b", "x"),
        ]
        for secret in ["sword, \"fish\"", " x ", "two\r\nlines", "\"", "日本", String(repeating: "\"", count: 65_536)] {
            var file = PasswordList.firstLine
            for (service, account) in names {
                let name = try #require(ItemName(service: service, account: account))
                let line = Array(secret.utf8).withUnsafeBytes { PasswordList.line(name, label: "Label", secret: $0) }
                file += try #require(line)
            }
            let list = try PasswordList(CSVTable(Array(file)))
            #expect(list.source == .touchstone)
            #expect(list.all.map { [$0.name.service, $0.name.account] } == names.map { [$0.0, $0.1] })
            #expect(list.all.allSatisfy { $0.secret == secret })
            #expect(list.all.first?.label == "Label")
        }
    }

    @Test func aSecretThatIsNoTextHasNoLine() throws {
        let name = try #require(ItemName(service: "a", account: "b"))
        for bytes: [UInt8] in [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80]] {
            #expect(bytes.withUnsafeBytes { PasswordList.line(name, label: "a", secret: $0) } == nil)
        }
        #expect([0x61].withUnsafeBytes { PasswordList.line(name, label: "a", secret: $0) } != nil)
    }

    @Test(
        arguments: [
            ("https://www.example.org/a?b", "example.org"), ("example.org", "example.org"),
            ("http://EXAMPLE.org:8080", "example.org"), ("https://www.", "www."), ("ssh://git@host", "host"),
            ("a.example,b.example", "a.example"),
        ])
    func theServiceIsTheHost(address: String, host: String) {
        #expect(PasswordList.host(address) == host)
    }

    @Test(arguments: ["", "  ", "https://", "://", "..."]) func whatHasNoHostHasNone(address: String) {
        #expect(PasswordList.host(address) == nil)
    }
}
