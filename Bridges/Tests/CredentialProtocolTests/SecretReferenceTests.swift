import CredentialProtocol
import Testing

@Suite struct SecretReferenceTests {
    @Test(
        "EX-1: references are read and written",
        arguments: [
            ("touchstone://npm/token", "npm", "token", nil), ("touchstone://a%20b/c%2Fd", "a b", "c/d", nil),
            ("touchstone://db/me/pass%C3%A9", "db", "me", "passé"),
        ] as [(String, String, String, String?)])
    func references(text: String, service: String, account: String, field: String?) throws {
        let reference = try #require(SecretReference(text))
        #expect(reference.service == service)
        #expect(reference.account == account)
        #expect(reference.field == field)
        #expect(reference.description == text)
    }

    @Test(
        "EX-1: what is no reference",
        arguments: [
            "", "touchstone://", "touchstone://a", "touchstone://a/", "touchstone:///b", "touchstone://a/b/",
            "touchstone://a/b/c/d",
            "touchstone://a/b%", "touchstone://a/b%2", "touchstone://a/b%zz", "touchstone://a/b c",
            "touchstone://a/b?c", "touchstone://a/b%00",
            "touchstone://a/b%0A", "touchstone://a/%FF", "Touchstone://a/b", " touchstone://a/b", "https://a/b",
        ])
    func noReferences(text: String) { #expect(SecretReference(text) == nil) }

    @Test("EX-1: parts have a largest length")
    func length() {
        let part = String(repeating: "a", count: SecretReference.maximumPartCount)
        #expect(SecretReference("touchstone://a/\(part)") != nil)
        #expect(SecretReference("touchstone://a/\(part)a") == nil)
        #expect(SecretReference("touchstone://a/" + String(repeating: "%61", count: 400)) == nil)
        // What is written can be read, however much of it is encoded.
        let encoded = String(repeating: "\u{E9}", count: SecretReference.maximumPartCount / 2)
        let longest = SecretReference(service: encoded, account: encoded, field: encoded)
        #expect(longest?.description.utf8.count == SecretReference.maximumCount)
        #expect(longest.flatMap { SecretReference($0.description) } == longest)
    }

    @Test("EX-1: a field is a key of a JSON object")
    func fields() throws {
        let secret = Array(#"{"user":"me","port":5432,"tls":true,"none":null,"list":[1]}"#.utf8)
        func part(_ field: String) throws -> [UInt8]? {
            try #require(SecretReference(service: "s", account: "a", field: field)).part(of: secret)
        }
        #expect(try part("user") == Array("me".utf8))
        #expect(try part("port") == Array("5432".utf8))
        #expect(try part("tls") == Array("true".utf8))
        for field in ["none", "list", "other"] { #expect(try part(field) == nil) }
        #expect(try #require(SecretReference(service: "s", account: "a")).part(of: [1, 0, 2]) == [1, 0, 2])
        #expect(try #require(SecretReference("touchstone://s/a/f")).part(of: [1, 0, 2]) == nil)
    }

    @Test("EX-1: a file of variables")
    func environmentFile() throws {
        let file = try EnvironmentFile(
            Array(
                #"""
                # comment
                A=1
                export B = no

                C='a # $b\n'  # comment
                D="x\n\"y\" \$ \q"
                E=plain # comment
                F=a#b
                G=
                H=touchstone://npm/token
                """#.replacing("export B = no", with: "export B=no").utf8))
        #expect(file.variables.map(\.name) == ["A", "B", "C", "D", "E", "F", "G", "H"])
        #expect(
            file.variables.map(\.value) == [
                "1", "no", #"a # $b\n"#, "x\n\"y\" $ \\q", "plain", "a#b", "", "touchstone://npm/token",
            ])
    }

    @Test(
        "EX-1: what is no file of variables",
        arguments: ["A", "1=2", "A B=1", "A='x", "A=\"x", "A=\"x\\", "=1", "A='x'y", "A=\0"])
    func malformed(line: String) {
        #expect(throws: EnvironmentFileError.malformed(line: 2)) { try EnvironmentFile(Array("OK=1\n\(line)".utf8)) }
    }

    @Test("EX-1: as many variables as are allowed, and one more")
    func variables() throws {
        let most = String(repeating: "A=1\n", count: EnvironmentFile.maximumVariables)
        #expect(try EnvironmentFile(most.utf8).variables.count == EnvironmentFile.maximumVariables)
        #expect(throws: EnvironmentFileError.tooLong) { try EnvironmentFile((most + "A=1\n").utf8) }
    }

    @Test("EX-1: a text with places for secrets; other braces stay")
    func template() throws {
        let reference = try #require(SecretReference("touchstone://a/b"))
        let template = try SecretTemplate(Array("x{{touchstone://a/b}} {{ other }} {{  touchstone://a/b }}y{".utf8))
        #expect(
            template.pieces == [
                .text(Array("x".utf8)), .reference(reference), .text(Array(" {{ other }} ".utf8)),
                .reference(reference),
                .text(Array("y{".utf8)),
            ])
        #expect(template.references == [reference])
        #expect(throws: SecretTemplateError.malformed(offset: 1)) {
            try SecretTemplate(Array(" {{touchstone://a}}".utf8))
        }
        #expect(throws: SecretTemplateError.malformed(offset: 0)) {
            try SecretTemplate(Array("{{touchstone://a/b".utf8))
        }
        #expect(try SecretTemplate([]).pieces == [])
        #expect(try SecretTemplate(Array("{{".utf8)).pieces == [.text(Array("{{".utf8))])
    }

    @Test("EX-3: secrets are replaced wherever they are cut")
    func mask() {
        let secrets = ["swordfish", "swordfish-and-more", "ffffffff", "short"].map { Array($0.utf8) }
        let text = Array("a swordfish, swordfish-and-more; fffffffff short swordfis".utf8)
        let expected =
            "a <concealed by touchstone>, <concealed by touchstone>; <concealed by touchstone>f short swordfis"
        for cut in 0...text.count {
            var mask = OutputMask(secrets)
            let output = mask.masking(text[..<cut]) + mask.masking(text[cut...]) + mask.finish()
            #expect(String(decoding: output, as: UTF8.self) == expected, "cut at \(cut)")
        }
        var mask = OutputMask(secrets)
        let bytes = text.flatMap { mask.masking([$0]) } + mask.finish()
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test("EX-3: nothing is kept back that is not the beginning of a secret")
    func maskIsPrompt() {
        var mask = OutputMask([Array("swordfish".utf8)])
        #expect(mask.masking(Array("$ ".utf8)) == Array("$ ".utf8))
        #expect(mask.masking(Array("as".utf8)) == Array("a".utf8))
        #expect(mask.finish() == Array("s".utf8))
    }
}
