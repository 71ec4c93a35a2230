import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveInterface
package import TouchstoneTransport

/// `io.touchstone.Key`: private keys of the enclave, for apps.
///
/// Says to the enclave who the app is, and passes on the rest: it sees no key, and decides nothing.
package final class KeyService: Sendable {
    private let enclave: VarlinkClient
    private let contexts: ContextOwners
    private let refusals: RefusalNotes
    private let waiting = Mutex(Waiting())

    /// Who waits for the device's hardware, by the enclave's ticket.
    private struct Waiting {
        var byTicket: [String: @Sendable (Result<EnclaveInterface.KeyResult, KeyInterface.Failed>) -> Void] = [:]
    }

    package init(enclave: VarlinkClient, contexts: ContextOwners, refusals: RefusalNotes) {
        self.enclave = enclave
        self.contexts = contexts
        self.refusals = refusals
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeyInterface.name, description: PackageResources.io_touchstone_Key_varlink,
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
            // The lock is held over the call so that no event comes before its ticket is known. The call answers at once.
            let reply = try waiting.withLock { waiting -> M.Reply? in
                do {
                    return try ask()
                } catch let error as RemoteError {
                    guard let deferred = error.as(EnclaveInterface.Deferred.self) else { throw error }
                    waiting.byTicket[deferred.ticket] = { found in
                        switch found {
                        case .success(let found) where found.isInvalidated == true:
                            call.fail(KeyInterface.Invalidated(found.reason.flatMap(RefusalCause.init)))
                        case .success(let found):
                            if let status = found.status {
                                call.fail(
                                    KeyInterface.Failed(
                                        Status(rawValue: status), found.reason.flatMap(RefusalCause.init)))
                            } else {
                                call.reply(result(found))
                            }
                        case .failure(let error): call.fail(error)
                        }
                    }
                    return nil
                }
            }
            if let reply { call.reply(reply) }
        } catch {
            guard let error = Self.passedOn(error) as? any VarlinkError else { return call.drop() }
            call.fail(error)
        }
    }

    /// Takes one event of the enclave's.
    package func handle(_ event: EnclaveInterface.WatchEvents.Reply) {
        guard let ticket = event.ticket, let result = event.key else { return }
        waiting.withLock { $0.byTicket.removeValue(forKey: ticket) }?(.success(result))
    }

    /// The enclave is gone: whoever waits hears of it now.
    package func enclaveLost() {
        let lost = waiting.withLock { waiting in
            defer { waiting.byTicket = [:] }
            return waiting.byTicket.values
        }
        for answer in lost { answer(.failure(KeyInterface.Failed(.notAvailable, .deviceNotWorking))) }
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
