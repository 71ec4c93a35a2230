import HTTPTypes
import Hummingbird

/// One route: the router, the OpenAPI description's test and the metrics have it from here.
struct Route: Sendable {
    let method: HTTPRequest.Method
    let path: String
    /// Its answer counts the use of the address, together with what else it asks the store.
    let countsAddress: Bool
    let answer: @Sendable (SignInServer, Call) async throws -> Response

    init(
        _ method: HTTPRequest.Method, _ path: String, countsAddress: Bool = false,
        _ answer: @escaping @Sendable (SignInServer, Call) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.countsAddress = countsAddress
        self.answer = answer
    }

    /// For the log and the metrics.
    var name: String { "\(method) \(path)" }

    static let all = api + PageFile.routes

    static let api: [Route] = [
        Route(.post, "/v1/password-sessions") { try await $0.addPasswordSession($1) },
        Route(.post, "/v1/registrations/challenge") { try await $0.registrationChallenge($1) },
        Route(.post, "/v1/registrations") { try await $0.register($1) },
        Route(.post, "/v1/challenges", countsAddress: true) { try await $0.challenge($1) },
        Route(.post, "/v1/sessions", countsAddress: true) { try await $0.signIn($1) },
        Route(.post, "/v1/sessions/refresh") { try await $0.refresh($1) },
        Route(.post, "/v1/sessions/end") { try await $0.endSession($1) },
        Route(.get, "/v1/devices") { try await $0.devices($1) },
        Route(.post, "/v1/transactions") { try await $0.addTransaction($1) },
        Route(.post, "/v1/transactions/confirm") { try await $0.confirmTransaction($1) },
        Route(.post, "/v1/keys/rotate") { try await $0.rotateKey($1) },
        Route(.post, "/v1/keys/revoke") { try await $0.revokeKey($1) },
        Route(.post, "/v1/web/requests") { try await $0.addWebRequest($1) },
        Route(.get, "/v1/web/requests/state") { try await $0.webRequestState($1) },
        Route(.post, "/v1/web/requests/approve") { try await $0.approveWebRequest($1) },
        Route(.post, "/v1/web/requests/deny") { try await $0.denyWebRequest($1) },
        Route(.get, "/v1/web/session") { try await $0.webSession($1) },
        Route(.post, "/v1/web/session/end") { try await $0.endWebSession($1) },
        Route(.post, "/v1/web/passkeys/registrations/challenge") { try await $0.passkeyRegistrationChallenge($1) },
        Route(.post, "/v1/web/passkeys/registrations") { try await $0.registerPasskey($1) },
        Route(.post, "/v1/web/passkeys/sign-ins/challenge") { try await $0.passkeyChallenge($1) },
        Route(.post, "/v1/web/passkeys/sign-ins") { try await $0.signInWithPasskey($1) },
        Route(.get, "/.well-known/jwks.json") { try await $0.keySet($1) },
        Route(.get, "/openapi.json") { server, _ in server.description() },
        Route(.get, "/healthz") { _, _ in .text("ok\n", type: "text/plain") },
    ]

    /// Not for clients: what they tell would undo the uniform answers (NP-42).
    static let operations: [Route] = [
        Route(.get, "/readyz") { server, _ in try await server.readiness() },
        Route(.get, "/metrics") { server, _ in server.exposition() },
    ]
}
