import Foundation
import Logging
public import ServiceLifecycle

/// What has to be done again and again: deleting what expired, revoking keys that nobody uses (NP-30), new keys for the
/// access tokens.
///
/// Every process does it; it does no harm twice.
public struct SignInUpkeep: Service {
    private let server: SignInServer

    init(_ server: SignInServer) { self.server = server }

    /// Goes on until the application ends.
    public func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            await once()
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(60)) }
        }
    }

    /// One round.
    ///
    /// What fails is in the log and comes again with the next.
    public func once() async {
        let configuration = server.configuration
        let now = configuration.now
        do {
            try await server.store.sweep(at: now)
            let unused = try await server.store.revokeUnused(since: now - configuration.lifetimes.unusedKey, at: now)
            if unused > 0 { server.logger.notice("unused keys revoked", metadata: ["count": "\(unused)"]) }
            _ = try await server.tokenKeys.signing()
        } catch {
            server.logger.error("upkeep failed", metadata: ["error": "\(error)"])
        }
    }
}

extension SignInServer {
    /// For the application's services.
    public var upkeep: SignInUpkeep { SignInUpkeep(self) }
}
