import Testing

@testable import CredentialProtocol

@Suite struct SecurityCommandTests {
    private func read(_ words: String...) throws -> SecurityCommand {
        try SecurityCommand(words.map { Array($0.utf8) })
    }

    @Test("SC-3: options as scripts write them: apart, together, and after other ones")
    func options() throws {
        let apart = try read("find-generic-password", "-s", "npm", "-a", "me", "-w")
        #expect((apart.action, apart.isInternet, apart.printsPassword) == (.find, false, true))
        #expect((apart.place, apart.account) == ("npm", "me"))
        #expect(try read("find-generic-password", "-wsnpm", "-ame") == apart)
        #expect(try read("find-generic-password", "-w", "-l", "npm", "-a", "me") == apart)
        let kept = try read("find-generic-password", "-gs", "npm", "login.keychain")
        #expect((kept.showsPassword, kept.ignored) == (true, ["the name of a keychain"]))
        let added = try read("add-generic-password", "-U", "-A", "-s", "npm", "-a", "me", "-w", "x y")
        #expect((added.updates, added.isOpen, added.password) == (true, true, .argument(Array("x y".utf8))))
        #expect(try read("add-generic-password", "-s", "npm", "-a", "me", "-w").password == .asked)
        #expect(
            try read("add-generic-password", "-s", "npm", "-a", "me", "-X", "00fF").password == .argument([0, 255]))
        let granted = try read(
            "add-generic-password", "-s", "a", "-a", "b", "-T", "/bin/x", "-T", "", "-T/bin/y", "-T", "/bin/x", "-j",
            "c")
        #expect((granted.programs, granted.ignored) == (["/bin/x", "/bin/y"], ["-j"]))
        let internet = try read(
            "find-internet-password", "-s", "git.example", "-r", "http", "-P", "8080", "-p", "/x", "-w")
        #expect((internet.scheme, internet.port, internet.path) == ("http", 8080, "/x"))
        #expect(try read("find-internet-password", "-s", "a").scheme == "https")
    }

    @Test(
        "SC-8: words of a line",
        arguments: [
            ("", []), (" \t\r", []), ("a b", ["a", "b"]), ("  a\tb  ", ["a", "b"]),
            ("'a b' \"c 'd'\"", ["a b", "c 'd'"]),
            ("-w '' x", ["-w", "", "x"]), (#"a\ b \'c "d\"e" 'f\'g'"#, ["a b", "'c", "d\"e", "f'g"]),
            ("a'b c'd", ["ab cd"]),
        ])
    func wordsOfALine(line: String, words: [String]) throws {
        #expect(try SecurityLine.words(Array(line.utf8)) == words.map { Array($0.utf8) })
    }

    @Test(
        "SC-8: lines that are refused",
        arguments: ["'a", "a \"b", "a\\", "a\u{0}b", String(repeating: "x", count: 65537)])
    func refusedLines(line: String) {
        #expect(throws: SecurityCommandError.self) { try SecurityLine.words(Array(line.utf8)) }
    }

    @Test(
        "SC-2: each failure has the status that scripts test",
        arguments: [
            (CredentialMessages.Failure.gone, 44), (.duplicate, 45), (.denied, 51), (.busy, 51), (.locked, 36),
            (.cancelled, 128), (.unavailable, 53), (.invalid, 206),
        ] as [(CredentialMessages.Failure, Int)])
    func statuses(failure: CredentialMessages.Failure, status: Int) {
        #expect(Int(failure.securityStatus) == status)
    }

    @Test(
        "SC-1, SC-2: what is not supported or not complete is a usage error",
        arguments: [
            [], ["find-certificate", "-a"], ["find"], ["import", "x.p12"], ["-i"], ["find-generic-password"],
            ["find-generic-password", "-w"], ["find-generic-password", "-s"], ["find-generic-password", "-s", ""],
            ["find-generic-password", "-s", "a", "-U"], ["find-generic-password", "-s", "a", "-Z", "b"],
            ["find-generic-password", "-s", "a", "-j", "b"], ["find-generic-password", "-s", "a", "-P", "1"],
            ["add-generic-password", "-s", "a"], ["add-generic-password", "-s", "a", "-a", "b", "-X", "0"],
            ["add-generic-password", "-s", "a", "-a", "b", "-X", "0g"], ["delete-internet-password", "-s", "a"],
            ["find-internet-password", "-s", "a", "-P", "65536"],
            ["find-internet-password", "-s", "a", "-r", "gopher"],
            ["find-generic-password", "-s", String(repeating: "a", count: 4097)],
        ])
    func refused(words: [String]) {
        #expect(throws: SecurityCommandError.self) { try SecurityCommand(words.map { Array($0.utf8) }) }
    }

    @Test("SC-3: bytes that are not text are no name, and may be a password")
    func bytes() throws {
        let start = ["add-generic-password", "-s", "a", "-a", "b", "-w"].map { Array($0.utf8) }
        #expect(try SecurityCommand(start + [[0xFF]]).password == .argument([0xFF]))
        #expect(throws: SecurityCommandError.malformed("-s")) {
            try SecurityCommand([Array("find-generic-password".utf8), Array("-s".utf8), [0xFF]])
        }
    }

    @Test(
        "SC-3: the password alone, and after -g",
        arguments: [
            ("swordfish", "swordfish\n", "password: \"swordfish\"\n"), ("", "\n", "password: \n"),
            ("a b\"~", "a b\"~\n", "password: \"a b\"~\"\n"),
            ("ö", "c3b6\n", "password: 0xC3B6\n"), ("ö!", "c3b621\n", "password: 0xC3B621  \"\\303\\266!\"\n"),
            ("a\\", "a\\\n", "password: 0x615C  \"a\\134\"\n"), ("\u{1}\n", "010a\n", "password: 0x010A\n"),
        ])
    func passwords(password: String, alone: String, shown: String) {
        #expect(String(decoding: SecurityOutput.password(Array(password.utf8)), as: UTF8.self) == alone)
        #expect(String(decoding: SecurityOutput.shown(Array(password.utf8)), as: UTF8.self) == shown)
    }

    @Test("SC-3: the shape of the attributes")
    func attributes() throws {
        let command = try read("find-generic-password", "-s", "npm")
        #expect(
            String(decoding: SecurityOutput.attributes(of: command, account: "mü"), as: UTF8.self) == """
                keychain: "touchstone"
                version: 512
                class: "genp"
                attributes:
                    0x00000007 <blob>="npm"
                    "acct"<blob>=0x6DC3BC  "m\\303\\274"
                    "svce"<blob>="npm"

                """)
        let internet = try read("find-internet-password", "-s", "git.example", "-P", "8080")
        let text = String(decoding: SecurityOutput.attributes(of: internet, account: "me"), as: UTF8.self)
        #expect(text.contains("    \"port\"<uint32>=0x00001f90\n    \"srvr\"<blob>=\"git.example\"\n"))
        #expect(text.contains("    \"path\"<blob>=<NULL>\n"))
    }
}
