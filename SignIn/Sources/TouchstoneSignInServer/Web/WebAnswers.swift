import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/web/requests/approve`: a finger's signature for a page that waits.
    ///
    /// A signature with another code or for another page's origin ends the request: its owner was shown something else than
    /// what this browser shows.
    func approveWebRequest(_ call: Call) async throws -> Response {
        try await limit(
            configuration.limits.addressWebRequests, "web answer", Data(call.address.utf8), .limitAddress)
        let signed = try await verify(call, for: .signIn)
        let key = signed.key
        let details = try signed.submitted.details(Details.WebSignIn.self, ["web", "code", "origin"])
        let now = configuration.now
        guard let request = try await store.webRequest(id: details.web), request.state == .pending,
            request.expiresAt > now
        else { throw Failure.refused(.webRequestGone, key: key.id) }
        guard Data(request.code.utf8).hashed == Data(details.code.utf8).hashed else {
            _ = try await store.settleWebRequest(id: request.id, as: .refused, keyID: key.id, at: now)
            throw Failure.refused(.webCode, key: key.id)
        }
        guard configuration.origins.contains(details.origin) else {
            _ = try await store.settleWebRequest(id: request.id, as: .refused, keyID: key.id, at: now)
            throw Failure.refused(.webOrigin, key: key.id)
        }
        guard try await store.settleWebRequest(id: request.id, as: .approved, keyID: key.id, at: now) else {
            throw Failure.refused(.webRequestGone, key: key.id)
        }
        call.tell("page approved", key: key.id)
        return .noContent
    }

    /// `POST /v1/web/requests/deny`: anybody who knows a request and its code may end it.
    func denyWebRequest(_ call: Call) async throws -> Response {
        let body = try call.decode(Body.WebDenial.self)
        try await limit(
            configuration.limits.addressWebRequests, "web answer", Data(call.address.utf8), .limitAddress)
        try await limit(configuration.limits.webRequest, "web denial", Data(body.request.utf8), .limitWebRequest)
        let now = configuration.now
        guard let request = try await store.webRequest(id: body.request), request.expiresAt > now else {
            throw Failure.refused(.webRequestGone)
        }
        guard Data(request.code.utf8).hashed == Data(body.code.utf8).hashed else { throw Failure.refused(.webCode) }
        guard try await store.settleWebRequest(id: request.id, as: .denied, keyID: nil, at: now) else {
            throw Failure.refused(.webRequestGone)
        }
        return .noContent
    }
}
