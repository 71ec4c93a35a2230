import Foundation
import TouchstoneCore
package import TouchstoneTransport

/// `io.touchstone.Key`: private keys of the enclave, for apps.
///
/// Says to the enclave who the app is, and passes on the rest: it sees no key, and decides nothing.
package final class KeyService: Sendable {
    private let enclave: VarlinkClient
    private let contexts: ContextOwners

    package init(enclave: VarlinkClient, contexts: ContextOwners) {
        self.enclave = enclave
        self.contexts = contexts
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeyInterface.name, description: PackageResources.io_touchstone_Key_varlink,
            handlers: [
                .method(KeyInterface.Create.self) { [self] request, connection in
                    let app = try connection.identity()
                    let group = try accessGroup(request.accessGroup, of: app)
                    return try ask(
                        EnclaveInterface.CreateKey.self,
                        .init(
                            kind: request.kind, accessControl: request.accessControl, accessGroup: group,
                            app: app.identifier, context: contexts.own(request.context, of: app)))
                },
                .method(KeyInterface.Inspect.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.InspectKey.self,
                        .init(key: request.key, accessGroups: try connection.identity().accessGroups))
                },
                .method(KeyInterface.Sign.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.Sign.self,
                        .init(
                            use: use(request.key, request.context, by: try connection.identity()),
                            data: request.data))
                },
                .method(KeyInterface.ExchangeKeys.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.ExchangeKeys.self,
                        .init(
                            use: use(request.key, request.context, by: try connection.identity()),
                            publicKey: request.publicKey, operation: request.operation))
                },
                .method(KeyInterface.SignMessage.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.SignMessage.self,
                        .init(
                            use: use(request.key, request.context, by: try connection.identity()),
                            message: request.message, signatureContext: request.signatureContext))
                },
                .method(KeyInterface.Decapsulate.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.Decapsulate.self,
                        .init(
                            use: use(request.key, request.context, by: try connection.identity()),
                            encapsulated: request.encapsulated))
                },
            ])
    }

    private func use(_ key: Data, _ context: String?, by app: AppIdentity) -> EnclaveInterface.KeyUse {
        .init(key: key, app: app.identifier, accessGroups: app.accessGroups, context: contexts.own(context, of: app))
    }

    /// The app's first, or the one it names (KC-40, KC-42).
    private func accessGroup(_ asked: String?, of app: AppIdentity) throws -> String {
        guard let asked else { return app.accessGroups[0] }
        guard app.accessGroups.contains(where: asked.isSpelled) else {
            throw KeyInterface.Failed(.missingEntitlement)
        }
        return asked
    }

    /// The enclave's answer, whichever it is.
    private func ask<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        do {
            return try enclave.call(method, parameters)
        } catch let error as RemoteError {
            throw error.as(KeyInterface.AuthenticationNeeded.self) ?? error.as(KeyInterface.Failed.self)
                ?? error.as(KeyInterface.Invalidated.self) ?? KeyInterface.Failed(.internalError) as any VarlinkError
        } catch is TransportError {
            throw KeyInterface.Failed(.notAvailable)
        }
    }
}
