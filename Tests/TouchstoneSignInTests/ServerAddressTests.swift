import Foundation
import Testing

@testable import TouchstoneSignIn

@Suite struct ServerAddressTests {
    @Test(
        "NP-14: origin and audience are of one spelling",
        arguments: [
            ("https://example.org", "https://example.org", "example.org"),
            ("HTTPS://Example.ORG:443/", "https://example.org", "example.org"),
            ("https://example.org:8443", "https://example.org:8443", "example.org:8443"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://localhost:80/", "http://localhost", "localhost:80"),
            ("http://[::1]:8080", "http://[::1]:8080", "[::1]:8080"),
        ])
    func accepted(text: String, origin: String, audience: String) throws {
        let address = try ServerAddress(#require(URL(string: text)))
        #expect(address.origin == origin)
        #expect(address.url.absoluteString == origin)
        #expect(address.defaultAudience == audience)
    }

    @Test(
        "a password goes over https alone, and nothing but a host is an address",
        arguments: [
            "http://example.org", "http://127.0.0.2", "http://localhost.example.org", "ftp://example.org",
            "example.org",
            "https://", "https://example.org/path", "https://example.org?x=1", "https://example.org#x",
            "https://user@example.org", "https://user:secret@example.org", "file:///etc/passwd",
        ])
    func refused(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: SignInError.self) { try ServerAddress(url) }
    }
}

@Suite struct PromptTextTests {
    @Test func aLineOfTextIsShown() throws {
        try PromptText.check("pay 42,00 \u{20AC} to B\u{FC}cher \u{1F4DA}")
        try PromptText.check(String(repeating: "x", count: PromptText.maximumLength))
    }

    @Test(
        "a text that would not show as it is is not signed",
        arguments: [
            "", "pay 1\npay 2", "pay 1\u{2028}", "pay \u{202E}24", "pay\u{200B}1", "\u{7}", "\u{0}",
            String(repeating: "x", count: PromptText.maximumLength + 1),
        ])
    func refused(text: String) {
        #expect(throws: SignInError.self) { try PromptText.check(text) }
    }

    @Test("a name is looked through to its end", arguments: ["\u{202E}", "\n", "\u{200B}"])
    func names(hidden: String) throws {
        let server = try #require(URL(string: "https://example.org"))
        let name = String(repeating: "x", count: 230)
        #expect(try SignInClient(server: server, audience: name, application: "app").audience == name)
        #expect(throws: SignInError.self) {
            try SignInClient(server: server, audience: name + hidden, application: "app")
        }
        #expect(throws: SignInError.self) { try SignInClient(server: server, application: name + hidden) }
    }

    @Test func thePromptSaysWhereAndWhat() {
        #expect(PromptText.signIn("example.org", code: "417 936") == "sign in to example.org; the page shows 417 936")
        #expect(PromptText.confirm("example.org", "pay 1") == "confirm at example.org: pay 1")
    }
}
