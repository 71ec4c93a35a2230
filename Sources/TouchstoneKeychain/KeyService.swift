import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Key`: private keys of the enclave, for apps.
///
/// Says to the enclave who the app is, and passes on the rest: it sees no key, and decides nothing.
package final class KeyService: Sendable {
    private let enclave: EnclaveClient
    private let contexts: ContextOwners
    private let refusals: RefusalNotes

    package init(enclave: EnclaveClient, contexts: ContextOwners, refusals: RefusalNotes) {
        self.enclave = enclave
        self.contexts = contexts
        self.refusals = refusals
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeyInterface.name, description: KeyInterface.file,
            handlers: [
                .deferred(KeyInterface.Create.self) { [self] request, call in
                    answer(call, { .init(key: $0.key ?? Data(), publicKey: $0.publicKey ?? Data()) }) {
                        let app = try call.connection.identity()
                        let group = try accessGroup(request.accessGroup, of: app)
                        return try enclave.call(
                            EnclaveInterface.CreateKey.self,
                            .init(
                                kind: request.kind, accessControl: request.accessControl, accessGroup: group,
                                app: app.identifier, context: contexts.own(request.context, of: app)))
                    }
                },
                .method(KeyInterface.Inspect.self) { [self] request, connection in
                    try ask(
                        EnclaveInterface.InspectKey.self,
                        .init(key: request.key, accessGroups: try connection.identity().accessGroups))
                },
                .deferred(KeyInterface.Sign.self) { [self] request, call in
                    answer(call, { .init(signature: $0.signature ?? Data()) }) {
                        try enclave.call(
                            EnclaveInterface.Sign.self,
                            .init(
                                use: use(request.key, request.context, by: try call.connection.identity()),
                                data: request.data))
                    }
                },
                .deferred(KeyInterface.ExchangeKeys.self) { [self] request, call in
                    answer(call, { .init(sharedSecret: $0.sharedSecret ?? Data()) }) {
                        try enclave.call(
                            EnclaveInterface.ExchangeKeys.self,
                            .init(
                                use: use(request.key, request.context, by: try call.connection.identity()),
                                publicKey: request.publicKey, operation: request.operation))
                    }
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
            refusals.note(.foreignAccessGroup, of: app)
            throw KeyInterface.Failed(.missingEntitlement, .foreignAccessGroup)
        }
        return asked
    }

    /// The enclave's answer, whichever it is.
    private func ask<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        do {
            return try enclave.call(method, parameters)
        } catch {
            throw Self.passedOn(error)
        }
    }

    /// Answers a call with what the enclave says at once, or with the `result` of the device's hardware once that is there.
    private func answer<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ result: @escaping @Sendable (EnclaveInterface.KeyResult) -> M.Reply,
        _ ask: () throws -> M.Reply
    ) {
        do {
            try enclave.awaitAnswer {
                do {
                    call.reply(try ask())
                    return nil
                } catch let error as RemoteError {
                    guard let deferred = error.as(EnclaveInterface.Deferred.self) else { throw error }
                    return deferred.ticket
                }
            } _: { event in
                guard let found = event?.key else {
                    return call.fail(KeyInterface.Failed(.notAvailable, .deviceNotWorking))
                }
                let cause = found.reason.flatMap(RefusalCause.init)
                if found.isInvalidated == true {
                    call.fail(KeyInterface.Invalidated(cause))
                } else if let status = found.status {
                    call.fail(KeyInterface.Failed(Status(rawValue: status), cause))
                } else {
                    call.reply(result(found))
                }
            }
        } catch {
            guard let error = Self.passedOn(error) as? any VarlinkError else { return call.drop() }
            call.fail(error)
        }
    }

    private static func passedOn(_ error: any Error) -> any Error {
        switch error {
        case let error as RemoteError:
            error.as(KeyInterface.AuthenticationNeeded.self) ?? error.as(KeyInterface.Failed.self)
                ?? error.as(KeyInterface.Invalidated.self) ?? KeyInterface.Failed(.internalError) as any VarlinkError
        case is TransportError: KeyInterface.Failed(.notAvailable, .deviceNotWorking)
        default: error
        }
    }
}
