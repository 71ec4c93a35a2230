import Foundation
import HTTPTypes
import Hummingbird
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct RouteTests {
    @Test func everyRouteIsDescribedAndNothingElse() async throws {
        try await TestServer.with { server async throws in
            let description = try #require(
                try JSONSerialization.jsonObject(with: await server.get("/openapi.json").body) as? [String: Any])
            let paths = try #require(description["paths"] as? [String: [String: Any]])
            let described = Set(paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(path)" } })
            let routed = Set(Route.all.map { "\($0.method.rawValue) \($0.path)" })
            #expect(described.subtracting(routed).isEmpty)
            #expect(routed.subtracting(described).isEmpty)
            #expect(routed.count == Route.all.count)
        }
    }

    @Test func applicationWithAPageOfItsOwnKeepsIt() async throws {
        try await TestServer.with { server async throws in
            let router = Router(context: TestContext.self)
            router.get("/") { _, _ in "mine" }
            server.server.addRoutes(to: router, page: false)
            let client = RouterClient(router)
            #expect(try await client.send(.get, "/").text == "mine")
            #expect(try await client.send(.get, "/style.css").status == 404)
            #expect(try await client.send(.get, "/v1/devices").status == 401)
        }
    }

    /// What the routes answer with is among what is described.
    @Test func everyFailureIsDescribed() throws {
        let description = try #require(
            try JSONSerialization.jsonObject(with: Data(PackageResources.openapi_json)) as? [String: Any])
        let text = String(decoding: Data(PackageResources.openapi_json), as: UTF8.self)
        for answer in [Failure.Answer.malformed, .refused, .notFound, .conflict, .tooLarge, .tooManyRequests] {
            #expect(text.contains("\"\(answer.rawValue)\""))
        }
        #expect(description["openapi"] as? String == "3.1.0")
    }

    static let posts = Route.all.filter { $0.method == .post }.map(\.path)

    @Test(arguments: posts)
    func bodyOfMoreThanSixteenKibibytesIsRefused(_ path: String) async throws {
        try await TestServer.with { server async throws in
            let fits = try await server.send(.post, path, bytes: Data(repeating: 0x20, count: Call.maximumBody))
            #expect(fits.status != 413)
            let answer = try await server.send(.post, path, bytes: Data(repeating: 0x20, count: Call.maximumBody + 1))
            #expect(answer.status == 413)
            #expect(answer.text == "{\"error\":\"tooLarge\"}")
        }
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{\"keyID\":1}", "{\"keyID\":\"AA\",\"purpose\":\"sign-in\"}", "\u{FEFF}{}",
    ])
    func bodyThatIsNotWhatIsAskedForIsMalformed(_ body: String) async throws {
        try await TestServer.with { server async throws in
            let answer = try await server.send(.post, "/v1/challenges", bytes: Data(body.utf8))
            #expect(answer.status == 400)
            #expect(answer.text == "{\"error\":\"malformed\"}")
        }
    }

    /// A form of another site's page is not JSON to us, whatever is in it.
    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
    func bodyThatIsNotCalledJSONIsMalformed(_ type: String) async throws {
        try await TestServer.with { server async throws in
            let body = try JSONEncoder().encode(Body.Password(name: "anna", password: TestServer.password))
            let answer = try await server.send(
                .post, "/v1/password-sessions", bytes: body, headers: ["Content-Type": type])
            #expect(answer.status == 400)
        }
    }

    @Test(arguments: Route.all.map(\.path))
    func otherMethodIsToldWhichThereIs(_ path: String) async throws {
        try await TestServer.with { server async throws in
            let answer = try await server.send(.put, path, bytes: nil)
            #expect(answer.status == 405)
            #expect(["GET", "POST"].contains(answer.header("Allow")))
        }
    }

    /// NP-42: to the byte, whatever is wrong.
    @Test func np42_everyRefusalHasOneAnswer() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let answers = [
                try await server.signIn(device) { $0.audience = "other" },
                try await server.signIn(device) { $0.keyID = Data(count: 32) },
                try await server.signIn(device) { $0.counter = 0 },
                try await server.get("/v1/devices"), try await server.get("/v1/web/requests/state"),
                try await server.post("/v1/password-sessions", Body.Password(name: "x", password: "y")),
            ]
            #expect(answers.allSatisfy { $0 == answers[0] && $0.isRefusal })
        }
    }

    @Test func np42_reasonsAreCounted() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            _ = try await server.signIn(device) { $0.audience = "other" }
            _ = try await server.signIn(device)
            let text = try await Self.operations(server, "/metrics").text
            for line in [
                "signin_refusals_total{reason=\"audience\"} 1",
                "signin_requests_total{route=\"POST /v1/sessions\",status=\"200\"} 1",
                "signin_requests_total{route=\"POST /v1/sessions\",status=\"401\"} 1",
                "signin_request_seconds_count{route=\"POST /v1/sessions\"} 2",
                "signin_store_seconds_count{operation=\"takeChallenge\"} 2",
            ] { #expect(text.contains(line + "\n")) }
        }
    }

    /// On a port of their own.
    static func operations(_ server: TestServer, _ path: String) async throws -> Answer {
        let router = Router(context: TestContext.self)
        server.server.addOperations(to: router)
        return try await RouterClient(router).send(.get, path)
    }

    @Test(arguments: ["/readyz", "/metrics"])
    func np42_countsAreNotForClients(_ path: String) async throws {
        try await TestServer.with { server async throws in
            #expect(try await server.get(path).status == 404)
            #expect(try await Self.operations(server, path).status == 200)
            #expect(try await Self.operations(server, "/v1/devices").status == 404)
        }
    }

    @Test func serverWhoseStorageIsGoneIsAliveAndNotReady() async throws {
        try await TestServer.with { server async throws in
            #expect(try await Self.operations(server, "/readyz").status == 200)
            try await server.store.close()
            #expect(try await server.get("/healthz").status == 200)
            let answer = try await Self.operations(server, "/readyz")
            #expect(answer.status == 503)
            #expect(answer.text == "{\"error\":\"unavailable\"}")
            #expect(answer.header("Retry-After") == "1")
            let body = Body.ChallengeRequest(keyID: Data(count: 32).base64URL, purpose: .signIn)
            #expect(try await server.post("/v1/challenges", body).status == 503)
        }
    }
}
