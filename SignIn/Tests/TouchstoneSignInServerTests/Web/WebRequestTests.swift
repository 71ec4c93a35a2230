import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct WebRequestTests {
    /// A browser with the page open.
    struct Browser {
        let server: TestServer
        let request: Body.WebRequest
        let cookie: String

        init(_ server: TestServer, cookie: String? = nil) async throws {
            self.server = server
            var headers = ["Origin": TestServer.origin]
            headers["Cookie"] = cookie
            let answer = try await server.post("/v1/web/requests", headers: headers)
            request = try answer.decode()
            self.cookie = try #require(answer.cookie)
        }

        func look() async throws -> Answer {
            try await server.get("/v1/web/requests/state", headers: ["Cookie": cookie])
        }

        var state: Body.WebState.State {
            get async throws { try await look().decode(Body.WebState.self).state }
        }

        func approve(
            _ device: TestDevice, code: String? = nil, origin: String = TestServer.origin
        ) async throws -> Answer {
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let details = Details.WebSignIn(web: request.request, code: code ?? request.code, origin: origin)
            return try await server.post("/v1/web/requests/approve", device.sign(.signIn, challenge, details))
        }
    }

    @Test func approvedPageIsSignedInOnce() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            #expect(try await browser.state == .pending)
            #expect(try await browser.approve(device).status == 204)
            let look = try await browser.look()
            #expect(try look.decode(Body.WebState.self).account == "anna")
            let session = ["Cookie": try #require(look.cookie)]
            #expect(try await server.get("/v1/web/session", headers: session).text == "{\"account\":\"anna\"}")
            // Who has a copy of the first cookie has no session by it.
            let again = try await browser.look()
            #expect(try again.decode(Body.WebState.self).state == .approved && again.cookie == nil)
            #expect(try await server.get("/v1/web/session", headers: ["Cookie": browser.cookie]).status == 204)
        }
    }

    @Test func cookiesAreTheHostsAlone() async throws {
        try await TestServer.with { server async throws in
            let answer = try await server.post("/v1/web/requests", headers: ["Origin": TestServer.origin])
            let cookie = try #require(answer.header("Set-Cookie"))
            #expect(cookie.hasPrefix("__Host-touchstone-browser="))
            for attribute in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/"] { #expect(cookie.contains(attribute)) }
            #expect(!cookie.contains("Domain"))
        }
    }

    @Test func codesAreSixDigitsInTwoGroups() async throws {
        try await TestServer.with { server async throws in
            var codes: Set<String> = []
            for _ in 0..<20 {
                let code = try await Browser(server).request.code
                #expect(code.wholeMatch(of: /[0-9]{3} [0-9]{3}/) != nil)
                codes.insert(code)
            }
            #expect(codes.count > 15)
        }
    }

    @Test(arguments: ["000 000", "000000", ""])
    func wrongCodeRefusesTheRequestForGood(_ code: String) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            #expect(try await browser.approve(device, code: code).isRefusal)
            #expect(server.log.reason == .webCode)
            #expect(try await browser.state == .refused)
            #expect(try await browser.approve(device).isRefusal)
            #expect(server.log.reason == .webRequestGone)
        }
    }

    @Test(arguments: ["https://signin.test.evil.example", "https://sıgnin.test", "http://signin.test", "null", ""])
    func np14_foreignOriginRefusesTheRequestForGood(_ origin: String) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            #expect(try await browser.approve(device, origin: origin).isRefusal)
            #expect(server.log.reason == .webOrigin)
            #expect(try await browser.state == .refused)
        }
    }

    @Test(arguments: [(119.0, true), (120.0, false)])
    func requestIsGoodForTwoMinutes(_ seconds: TimeInterval, _ isGood: Bool) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            server.clock.advance(by: seconds)
            #expect(try await browser.approve(device).status == (isGood ? 204 : 401))
            #expect(try await browser.state == (isGood ? .approved : .expired))
        }
    }

    @Test func deniedRequestIsNotApproved() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            let wrong = Body.WebDenial(request: browser.request.request, code: "nothing")
            #expect(try await server.post("/v1/web/requests/deny", wrong).isRefusal)
            #expect(try await browser.state == .pending)
            let denial = Body.WebDenial(request: browser.request.request, code: browser.request.code)
            #expect(try await server.post("/v1/web/requests/deny", denial).status == 204)
            #expect(try await browser.state == .denied)
            #expect(try await browser.approve(device).isRefusal)
            #expect(try await server.post("/v1/web/requests/deny", denial).isRefusal)
        }
    }

    @Test func codesAreNotGuessedByDenying() async throws {
        try await TestServer.with { server async throws in
            let browser = try await Browser(server)
            let wrong = Body.WebDenial(request: browser.request.request, code: "nothing")
            for _ in 0..<5 { #expect(try await server.post("/v1/web/requests/deny", wrong).isRefusal) }
            #expect(try await server.post("/v1/web/requests/deny", wrong).status == 429)
        }
    }

    @Test func browserHasOneRequestThatWaits() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let first = try await Browser(server)
            let second = try await Browser(server, cookie: first.cookie)
            #expect(try await first.state == .denied)
            #expect(try await first.approve(device).isRefusal)
            #expect(try await second.approve(device).status == 204)
        }
    }

    @Test(arguments: [nil, "https://evil.example", "null", "https://signin.test.evil.example"])
    func anotherSitesPageAsksForNothing(_ origin: String?) async throws {
        try await TestServer.with { server async throws in
            var headers: [String: String] = [:]
            headers["Origin"] = origin
            #expect(try await server.post("/v1/web/requests", headers: headers).isRefusal)
            #expect(server.log.reason == .origin)
        }
    }

    @Test func browserWithoutItsCookieSeesNothing() async throws {
        try await TestServer.with { server async throws in
            _ = try await Browser(server)
            let other = "__Host-touchstone-browser=\(Data(count: 32).base64URL)"
            #expect(try await server.get("/v1/web/requests/state").isRefusal)
            #expect(try await server.get("/v1/web/requests/state", headers: ["Cookie": other]).isRefusal)
        }
    }

    @Test func np30_keyThatIsRevokedBeforeThePageLooksSignsNobodyIn() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            #expect(try await browser.approve(device).status == 204)
            _ = try await server.store.revoke(keyID: device.keyID, reason: .owner, at: server.clock.now)
            let look = try await browser.look()
            #expect(try look.decode(Body.WebState.self).state == .refused && look.cookie == nil)
        }
    }

    @Test func np30_pagesSessionEndsWithItsKeyAndWhenItIsAsked() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            var sessions: [[String: String]] = []
            for _ in 0..<2 {
                let browser = try await Browser(server)
                _ = try await browser.approve(device)
                let cookie = try #require(try await browser.look().cookie)
                sessions.append(["Cookie": cookie, "Origin": TestServer.origin])
            }
            let foreign = sessions[0].merging(["Origin": "https://evil.example"]) { $1 }
            #expect(try await server.post("/v1/web/session/end", headers: foreign).isRefusal)
            #expect(try await server.post("/v1/web/session/end", headers: sessions[0]).status == 204)
            #expect(try await server.get("/v1/web/session", headers: sessions[0]).status == 204)
            #expect(try await server.post("/v1/web/session/end", headers: sessions[0]).isRefusal)
            #expect(try await server.get("/v1/web/session", headers: sessions[1]).status == 200)
            _ = try await server.store.revoke(keyID: device.keyID, reason: .owner, at: server.clock.now)
            #expect(try await server.get("/v1/web/session", headers: sessions[1]).status == 204)
        }
    }

    @Test func signInAndApprovalAreNotTakenForEachOther() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let browser = try await Browser(server)
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let signIn = try device.sign(.signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            #expect(try await server.post("/v1/web/requests/approve", signIn).isRefusal)
            #expect(server.log.reason == .detailsForm)
            let details = Details.WebSignIn(
                web: browser.request.request, code: browser.request.code, origin: TestServer.origin)
            let second = try await server.challenge(for: .signIn, keyID: device.keyID)
            #expect(try await server.post("/v1/sessions", device.sign(.signIn, second, details)).isRefusal)
            #expect(server.log.reason == .detailsForm)
        }
    }

    @Test func pageHasAPolicyAndNoScriptInIt() async throws {
        try await TestServer.with { server async throws in
            let page = try await server.get("/")
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
            #expect(!policy.contains("unsafe"))
            #expect(page.text.contains("signin.js"))
            #expect(page.text.matches(of: /<script(?![^>]*src=)/).isEmpty)
            for path in ["/signin.js", "/style.css", "/icon.svg"] {
                #expect(try await server.get(path).header("X-Content-Type-Options") == "nosniff")
            }
        }
    }
}
