public import Foundation
public import Hummingbird
import Logging
import TouchstoneSignInProtocol

/// Who sends a request, as an access token and a proof by its session key showed (NP-40).
public struct SignInIdentity: Sendable, Equatable {
    /// 16 bytes, the account's.
    public let userHandle: Data
    /// The device key that the owner's finger signed in with.
    public let keyID: Data
    /// The session's id.
    public let session: Data
}

/// A request's context that can hold who sent it.
public protocol SignInRequestContext: RequestContext {
    /// Set by ``SignInAuthenticator``.
    var signInIdentity: SignInIdentity? { get set }
}

/// Lets requests through that come with an access token of this server and a DPoP proof for it.
public struct SignInAuthenticator<Context: SignInRequestContext>: RouterMiddleware {
    private let server: SignInServer

    /// With these values.
    public init(_ server: SignInServer) { self.server = server }

    /// Refuses, or goes on with the identity in the context.
    public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var context = context
        do {
            context.signInIdentity = try await server.authenticate(request)
        } catch {
            let failure = Failure(error, context.logger)
            server.record(failure, context.logger)
            return Response(failure)
        }
        return try await next(request, context)
    }
}

extension SignInServer {
    /// The identity of an access token with its proof; the session and its key are looked up, so that a revoked key's
    /// token is worth nothing at once.
    func authenticate(_ request: Request) async throws -> SignInIdentity {
        guard let header = request.headers[.authorization], header.lowercased().hasPrefix("dpop ") else {
            throw Failure.refused(.noToken)
        }
        let text = String(header.dropFirst("dpop ".count))
        guard let token = try await tokenKeys.verify(text), let session = Data(base64URL: token.sid) else {
            throw Failure.refused(.token)
        }
        guard Double(token.exp) > configuration.now.timeIntervalSince1970 else { throw Failure.refused(.tokenExpired) }
        let proof = try await Proof(request, accessToken: text, configuration: configuration)
        guard proof.thumbprint == token.cnf.jkt else { throw Failure.refused(.proofKey) }
        try await spend(proof)
        guard let stored = try await store.session(id: session), stored.expiresAt > configuration.now,
            stored.sessionKey == token.cnf.jkt
        else { throw Failure.refused(.sessionEnded) }
        return SignInIdentity(userHandle: stored.userHandle, keyID: stored.keyID, session: stored.id)
    }
}
