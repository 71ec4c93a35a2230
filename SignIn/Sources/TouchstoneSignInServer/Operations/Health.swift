import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `GET /readyz`: whether the storage answers, and so this process can.
    func readiness() async throws -> Response {
        try await store.ping()
        return .text("ready\n", type: "text/plain")
    }

    /// `GET /metrics`.
    ///
    /// Not for the outside: it is on the operations' port alone.
    func exposition() -> Response {
        .text(metrics.registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
    }

    /// `GET /openapi.json`.
    func description() -> Response {
        Response(bytes: PackageResources.openapi_json, type: "application/json")
    }
}
