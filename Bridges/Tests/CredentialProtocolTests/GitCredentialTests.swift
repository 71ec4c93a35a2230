import CredentialProtocol
import Testing

@Suite struct GitCredentialTests {
    private func read(_ text: String) throws -> GitCredential { try GitCredential(Array(text.utf8)) }

    @Test("GC-10: lines until an empty one; unknown and repeated keys are ignored")
    func linesAreRead() throws {
        let credential = try read(
            "capability[]=authtype\nprotocol=https\nhost=example.org:8443\npath=a/b.git\nwwwauth[]=Basic\nwwwauth[]=Digest\n"
                + "username=octo=cat\npassword=p w=1\nnext=thing\npassword_expiry_utc=1700000000\n\nhost=other\n")
        #expect(credential.scheme == "https")
        #expect(credential.host == "example.org:8443")
        #expect(credential.path == "a/b.git")
        #expect(credential.username == "octo=cat")
        #expect(credential.password == Array("p w=1".utf8))
        #expect(credential.passwordExpiry == 1_700_000_000)
    }

    @Test("GC-10: the end of the input ends a line, and nothing at all is an empty credential")
    func endEndsALine() throws {
        #expect(try read("host=a").host == "a")
        #expect(try read("") == GitCredential())
        #expect(try read("\n") == GitCredential())
    }

    @Test(
        "GC-11: what is refused",
        arguments: [
            ("protocol=https\nhost\n", GitCredentialError.malformedLine), ("=x\n", .malformedLine),
            ("host=a\r\n", .controlCharacter), ("host=a\0b\n", .controlCharacter),
            ("host=a\nhost=b\n", .repeatedKey), ("host=a/b\n", .malformedHost), ("host=a\u{7}\n", .malformedHost),
            ("host=a\u{85}\n", .malformedHost),
        ])
    func refused(text: String, error: GitCredentialError) {
        #expect(throws: error) { try read(text) }
    }

    @Test("GC-11: the twins of what is refused")
    func acceptedTwins() throws {
        #expect(try read("host=a\nhost=a\n").host == "a")
        #expect(try read("host=münchen.example\n").host == "münchen.example")
        #expect(try GitCredential(Array(repeating: 0x61, count: 9) + [0x3D]).host == nil)
    }

    @Test("GC-11: 64 KiB are read, and not one byte more")
    func length() throws {
        let most = "password=" + String(repeating: "x", count: GitCredential.maximumCount - 9)
        #expect(try read(most).password?.count == GitCredential.maximumCount - 9)
        #expect(throws: GitCredentialError.tooLong) { try read(most + "x") }
        #expect(throws: GitCredentialError.malformedValue) { try GitCredential(Array("host=".utf8) + [0xFF]) }
    }

    @Test("GC-12: an answer has the fields that are there, and no value makes a line of its own")
    func answer() throws {
        var credential = GitCredential()
        credential.username = "octocat"
        credential.password = Array("s3cret".utf8)
        #expect(try credential.answer() == Array("username=octocat\npassword=s3cret\n".utf8))
        credential.passwordExpiry = 7
        credential.refreshToken = Array("r".utf8)
        let all = "username=octocat\npassword=s3cret\npassword_expiry_utc=7\noauth_refresh_token=r\n"
        #expect(try credential.answer() == Array(all.utf8))
        credential.password = Array("s\nhost=evil".utf8)
        #expect(throws: GitCredentialError.controlCharacter) { try credential.answer() }
    }

    private func place(_ host: String, scheme: String = "https", path: String? = nil) throws -> CredentialPlace? {
        var credential = GitCredential()
        (credential.scheme, credential.host, credential.path) = (scheme, host, path)
        return try CredentialPlace(credential)
    }

    @Test("GC-14: never another scheme, a parent domain or another port")
    func places() throws {
        let stored = try #require(try place("example.org"))
        #expect(stored.serves(try #require(try place("example.org"))))
        for (host, scheme) in [
            ("example.org", "http"), ("sub.example.org", "https"), ("org", "https"), ("example.org:443", "https"),
            ("example.org:8443", "https"), ("Example.org", "https"), ("exa\u{6D}ple.org.", "https"),
        ] {
            #expect(!stored.serves(try #require(try place(host, scheme: scheme))), "\(scheme) \(host)")
        }
    }

    @Test("GC-14: names are compared as bytes, not as text that looks alike")
    func bytes() throws {
        let composed = try #require(try place("caf\u{E9}.example"))
        let decomposed = try #require(try place("cafe\u{301}.example"))
        #expect(composed.host == decomposed.host)
        #expect(!composed.serves(decomposed))
        #expect(composed.serves(composed))
    }

    @Test("GC-14: a path that is asked for is the item's")
    func paths() throws {
        let whole = try #require(try place("a"))
        let repository = try #require(try place("a", path: "x.git"))
        #expect(repository.serves(repository))
        #expect(repository.serves(whole))
        #expect(!whole.serves(repository))
    }

    @Test("GC-11: hosts and their ports")
    func ports() throws {
        #expect(try place("[::1]:8080") == CredentialPlace(scheme: "https", host: "[::1]", port: 8080))
        #expect(try place("[::1]")?.port == nil)
        #expect(try place("") == nil)
        for host in ["a:", "a:x", "a:0", "a:65536", "a:1:2", ":80", "[::1", "a:+1"] {
            #expect(throws: GitCredentialError.malformedHost, "\(host)") { try place(host) }
        }
    }
}
