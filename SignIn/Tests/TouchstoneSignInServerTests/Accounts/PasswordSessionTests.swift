import Crypto
import Foundation
import Hummingbird
import NIOCore
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct PasswordSessionTests {
    @Test(arguments: ["anna", "ANNA", " Anna ", "ａｎｎａ"])
    func np20_passwordOpensASession(_ name: String) async throws {
        try await TestServer.with { server async throws in
            let answer = try await server.post(
                "/v1/password-sessions", Body.Password(name: name, password: TestServer.password))
            let session = try answer.decode(Body.PasswordSession.self)
            #expect(session.userHandle == server.userHandle.base64URL)
            #expect(session.expiresIn == 300)
            let headers = ["Authorization": "Bearer \(session.token)"]
            #expect(try await server.get("/v1/devices", headers: headers).status == 200)
            server.clock.advance(by: 300)
            #expect(try await server.get("/v1/devices", headers: headers).isRefusal)
        }
    }

    /// No account enumeration: to the byte.
    @Test func np41_unknownNameAndWrongPasswordHaveOneAnswer() async throws {
        try await TestServer.with { server async throws in
            let wrong = try await server.post("/v1/password-sessions", Body.Password(name: "anna", password: "x"))
            #expect(server.log.reason == .password)
            let unknown = try await server.post("/v1/password-sessions", Body.Password(name: "otto", password: "x"))
            #expect(server.log.reason == .accountUnknown)
            let noName = try await server.post("/v1/password-sessions", Body.Password(name: "\u{0}", password: "x"))
            let empty = try await server.post("/v1/password-sessions", Body.Password(name: "anna", password: ""))
            #expect(wrong.isRefusal)
            #expect([unknown, noName, empty].allSatisfy { $0 == wrong })
        }
    }

    /// An attack on one name or from one address is to be seen, and no name is.
    @Test func np42_refusedPasswordsAreLoggedByNameAndAddress() async throws {
        try await TestServer.with { server async throws in
            for name in ["anna", "ANNA ", "otto"] {
                #expect(
                    try await server.post("/v1/password-sessions", Body.Password(name: name, password: "x")).isRefusal)
            }
            let log = server.log.text
            let (anna, otto) = (server.server.logName("anna"), server.server.logName("otto"))
            #expect(anna.count == 8 && anna != otto)
            #expect(log.components(separatedBy: anna).count == 3)
            #expect(log.components(separatedBy: otto).count == 2)
            #expect(log.components(separatedBy: "192.0.2.1").count == 4)
            #expect(!log.lowercased().contains("anna") && !log.contains("otto"))
        }
    }

    @Test func np42_passwordsAndTokensAreNotInTheLog() async throws {
        try await TestServer.with { server async throws in
            _ = try await server.post(
                "/v1/password-sessions", Body.Password(name: "anna", password: "wrong-password-9153"))
            let session = try await server.passwordSession()
            _ = try await server.post("/v1/registrations/challenge", headers: session)
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let details = Details.SignIn(sessionKey: TestSessionKey().thumbprint)
            let answer = try await server.post("/v1/sessions", device.sign(.signIn, challenge, details))
            let tokens = try answer.decode(Body.Session.self)
            let log = server.log.text
            #expect(log.contains("signed in"))
            for secret in [
                "wrong-password-9153", TestServer.password, String(session["Authorization"]!.dropFirst(7)),
                challenge.base64URL, tokens.accessToken, tokens.refreshToken, device.keyID.base64URL,
            ] { #expect(!log.contains(secret)) }
        }
    }

    @Test func np41_guessesAreLimitedForANameThatNobodyHasToo() async throws {
        try await TestServer.with(change: { $0.limits.accountPasswords = .init(3, per: 300) }) { server async throws in
            for name in ["anna", "otto"] {
                for _ in 0..<3 {
                    let body = Body.Password(name: name, password: "x")
                    #expect(try await server.post("/v1/password-sessions", body).isRefusal)
                }
                // The right password is not looked at any more either.
                let body = Body.Password(name: name, password: TestServer.password)
                let answer = try await server.post("/v1/password-sessions", body)
                #expect(answer.status == 429)
                #expect(answer.retryAfter == "300")
            }
            server.clock.advance(by: 300)
            #expect(try await server.passwordSession().isEmpty == false)
        }
    }

    /// Who guesses at a name locks its owner out of it nowhere else; many together are slowed.
    @Test func np41_guessesFromOneAddressKeepNobodyElseOut() async throws {
        try await TestServer.with(change: {
            $0.limits.accountPasswords = .init(2, per: 300)
            $0.limits.everywhere = 3
            $0.trustedProxies = ["192.0.2.1"]
        }) { server async throws in
            func status(_ password: String, from address: String) async throws -> Int {
                try await server.post(
                    "/v1/password-sessions", Body.Password(name: "anna", password: password),
                    headers: ["X-Forwarded-For": address]
                ).status
            }
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await status("x", from: "198.51.100.1")) }
            #expect(statuses == [401, 401, 429])
            #expect(try await status(TestServer.password, from: "198.51.100.2") == 200)
            // The earlier three count for all, but the refused one does not, because the count of its own address turned it away.
            #expect(try await status("x", from: "198.51.100.3") == 401)
            #expect(try await status("x", from: "198.51.100.4") == 401)
            #expect(try await status("x", from: "198.51.100.5") == 401)
            #expect(try await status(TestServer.password, from: "198.51.100.6") == 429)
        }
    }

    struct Code: SecondFactor {
        func accepts(_ answer: String?, account: String, userHandle: Data) async throws -> Bool {
            answer == "123456" && account == "anna"
        }
    }

    @Test(arguments: [("123456", 200), ("000000", 401), (nil, 401)])
    func np20_secondFactorIsAskedFor(_ code: String?, _ status: Int) async throws {
        try await TestServer.with(secondFactor: Code()) { server async throws in
            let body = Body.Password(name: "anna", password: TestServer.password, secondFactor: code)
            let answer = try await server.post("/v1/password-sessions", body)
            #expect(answer.status == status)
            #expect(status == 200 || (answer.isRefusal && server.log.reason == .secondFactor))
        }
    }

    /// The password is changed while its owner is asked for the second factor.
    struct SlowCode: SecondFactor {
        let administration: SignInAdministration

        func accepts(_ answer: String?, account: String, userHandle: Data) async throws -> Bool {
            if answer == "change" { try await administration.setPassword("another", of: account) }
            return true
        }
    }

    @Test func np30_passwordThatIsChangedMeanwhileOpensNoSession() async throws {
        try await withFolder { folder async throws in
            let store = try SQLStore.sqlite(at: folder + "/signin.sqlite")
            let administration = try SignInAdministration(store: store)
            try await administration.addAccount("anna", password: "old")
            let server = try await SignInServer(
                configuration: .init(
                    audience: "signin.test", origins: [], applications: [], secret: .init(size: .bits256)),
                store: store, secondFactor: SlowCode(administration: administration))
            let router = Router(context: TestContext.self)
            server.addRoutes(to: router)
            let client = RouterClient(router)
            func status(_ password: String, _ factor: String?) async throws -> Int {
                let body = try JSONEncoder().encode(
                    Body.Password(name: "anna", password: password, secondFactor: factor))
                return try await client.send(
                    .post, "/v1/password-sessions", body, headers: [.contentType: "application/json"]
                ).status
            }
            #expect(try await status("old", nil) == 200)
            #expect(try await status("old", "change") == 401)
            #expect(try await status("another", nil) == 200)
            try await store.close()
        }
    }

    @Test func np30_newPasswordRevokesEveryDeviceAndSession() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let key = TestSessionKey()
            let token = try await server.signIn(device, key).decode(Body.Session.self).accessToken
            let session = try await server.passwordSession()
            try await server.administration.setPassword("another", of: "Anna")
            let request = Body.ChallengeRequest(keyID: device.keyID.base64URL, purpose: .signIn)
            #expect(try await server.post("/v1/challenges", request).isRefusal)
            let headers = try key.headers("GET", "/v1/devices", token: token)
            #expect(try await server.get("/v1/devices", headers: headers).isRefusal)
            #expect(try await server.get("/v1/devices", headers: session).isRefusal)
        }
    }

    @Test func turnstileTurnsAwayWhoeverIsTooMany() async throws {
        let turnstile = Turnstile(running: 1, waiting: 1)
        #expect(await turnstile.enter())
        async let second = turnstile.enter()
        while await turnstile.waiting == 0 { await Task.yield() }
        #expect(await turnstile.enter() == false)
        await turnstile.leave()
        #expect(await second)
        await turnstile.leave()
        #expect(await turnstile.enter())
    }
}
