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
    private let broker: any ProofBroker
    private let refusals: RefusalNotes
    /// Calls that have a thread: what the enclave keeps waiting.
    private let calls = Turns(.asking)

    package init(
        enclave: EnclaveClient, contexts: ContextOwners, broker: any ProofBroker, refusals: RefusalNotes
    ) {
        self.enclave = enclave
        self.contexts = contexts
        self.broker = broker
        self.refusals = refusals
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: KeyInterface.name, description: KeyInterface.file,
            handlers: [
                .deferred(KeyInterface.Create.self) { [self] request, call in
                    answer(
                        call, proofs(of: call, request.context, request.options),
                        { .init(key: $0.key ?? Data(), publicKey: $0.publicKey ?? Data()) }
                    ) { [self] app, context in
                        let group = try accessGroup(request.accessGroup, of: app, context)
                        return try enclave.call(
                            EnclaveInterface.CreateKey.self,
                            .init(
                                kind: request.kind, accessControl: request.accessControl, accessGroup: group,
                                app: app.identifier, context: contexts.own(context, of: app)))
                    }
                },
                .deferred(KeyInterface.Inspect.self) { [self] request, call in
                    call.connection.perform(inTurnOf: calls) { [self] _ in
                        call.answer(
                            Result {
                                try enclave.call(
                                    EnclaveInterface.InspectKey.self,
                                    .init(
                                        key: request.key, accessGroups: try call.connection.identity().accessGroups))
                            }.mapError(Self.passedOn))
                    }
                },
                .deferred(KeyInterface.Sign.self) { [self] request, call in
                    answer(
                        call, proofs(of: call, request.context, request.options, request.keyLabel),
                        { .init(signature: $0.signature ?? Data()) }
                    ) { [self] app, context in
                        try enclave.call(
                            EnclaveInterface.Sign.self,
                            .init(use: use(request.key, context, by: app), data: request.data))
                    }
                },
                .deferred(KeyInterface.ExchangeKeys.self) { [self] request, call in
                    answer(
                        call, proofs(of: call, request.context, request.options, request.keyLabel),
                        { .init(sharedSecret: $0.sharedSecret ?? Data()) }
                    ) { [self] app, context in
                        try enclave.call(
                            EnclaveInterface.ExchangeKeys.self,
                            .init(
                                use: use(request.key, context, by: app), publicKey: request.publicKey,
                                operation: request.operation))
                    }
                },
                .deferred(KeyInterface.SignMessage.self) { [self] request, call in
                    answer(
                        call, proofs(of: call, request.context, request.options, request.keyLabel),
                        { .init(signature: $0.signature ?? Data()) }
                    ) { [self] app, context in
                        try enclave.call(
                            EnclaveInterface.SignMessage.self,
                            .init(
                                use: use(request.key, context, by: app), message: request.message,
                                signatureContext: request.signatureContext))
                    }
                },
                .deferred(KeyInterface.Decapsulate.self) { [self] request, call in
                    answer(
                        call, proofs(of: call, request.context, request.options, request.keyLabel),
                        { .init(sharedSecret: $0.sharedSecret ?? Data()) }
                    ) { [self] app, context in
                        try enclave.call(
                            EnclaveInterface.Decapsulate.self,
                            .init(use: use(request.key, context, by: app), encapsulated: request.encapsulated))
                    }
                },
            ])
    }

    private func proofs<M: VarlinkMethod>(
        of call: VarlinkCall<M>, _ context: String?, _ options: AuthenticationInterface.Options?,
        _ keyLabel: String? = nil
    ) -> CallProofs {
        CallProofs(broker, for: call.connection, context: context, options: options, keyLabel: keyLabel)
    }

    private func use(_ key: Data, _ context: String?, by app: AppIdentity) -> EnclaveInterface.KeyUse {
        .init(key: key, app: app.identifier, accessGroups: app.accessGroups, context: contexts.own(context, of: app))
    }

    /// The app's first, or the one it names (KC-40, KC-42).
    private func accessGroup(_ asked: AccessGroup?, of app: AppIdentity, _ context: String?) throws -> AccessGroup {
        guard let asked else { return app.accessGroups[0] }
        guard app.accessGroups.contains(asked) else {
            refusals.note(.foreignAccessGroup, of: app, for: contexts.client(of: context, of: app))
            throw KeyInterface.Failed(.missingEntitlement, .foreignAccessGroup)
        }
        return asked
    }

    /// Answers a call with what the enclave says at once, or with the `result` of the device's hardware once that is there.
    ///
    /// The enclave is asked on the connection's own thread, because it may keep that waiting. Where it wants the owner's proof that is had
    /// first, and `ask` is called again: with the app and the context.
    private func answer<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ proofs: CallProofs,
        _ result: @escaping @Sendable (EnclaveInterface.KeyResult) -> M.Reply,
        _ ask: @escaping @Sendable (AppIdentity, String?) throws -> M.Reply
    ) {
        ProvenCall.begin(call, proofs) { [self] call in
            call.connection.perform(inTurnOf: calls) { [self] _ in attempt(call, result, ask) }
        }
    }

    private func attempt<M: VarlinkMethod>(
        _ call: ProvenCall<M>, _ result: @escaping @Sendable (EnclaveInterface.KeyResult) -> M.Reply,
        _ ask: @Sendable (AppIdentity, String?) throws -> M.Reply
    ) {
        do {
            try enclave.awaitAnswer {
                do {
                    call.call.reply(try ask(call.connection.identity(), call.proofs.context))
                    return nil
                } catch let error as RemoteError {
                    guard let deferred = error.as(EnclaveInterface.Deferred.self) else { throw error }
                    return deferred.ticket
                }
            } _: { event in
                guard let found = event?.key else {
                    return call.call.fail(KeyInterface.Failed(.notAvailable, .deviceNotWorking))
                }
                let cause = found.reason.flatMap(RefusalCause.init)
                if found.isInvalidated == true {
                    call.call.fail(KeyInterface.Invalidated(cause))
                } else if let status = found.status {
                    call.call.fail(KeyInterface.Failed(Status(rawValue: status), cause))
                } else {
                    call.call.reply(result(found))
                }
            }
        } catch let error as RemoteError {
            guard let needed = error.as(EnclaveInterface.AuthenticationNeeded.self) else {
                return fail(call, error)
            }
            let proof = WantedProof(accessControl: needed.accessControl, operation: needed.operation)
            call.wait(for: ProofNeeded(proofs: [proof])) { [self] error in fail(call, error) }
        } catch {
            fail(call, error)
        }
    }

    private func fail<M: VarlinkMethod>(_ call: ProvenCall<M>, _ error: any Error) {
        if let refusal = error as? Refusal, let app = try? call.connection.identity() {
            refusals.note(
                refusal.cause, of: app, for: contexts.client(of: call.proofs.context, of: app),
                refusal.accessControl?.requirement)
        }
        guard let error = Self.passedOn(error) as? any VarlinkError else { return call.call.drop() }
        call.call.fail(error)
    }

    private static func passedOn(_ error: any Error) -> any Error {
        switch error {
        case let error as RemoteError:
            error.as(KeyInterface.Failed.self) ?? error.as(KeyInterface.Invalidated.self)
                ?? KeyInterface.Failed(.internalError) as any VarlinkError
        case let error as ProofNotGiven: KeyInterface.Failed(error.failed, error.accessControl)
        case let refusal as Refusal: KeyInterface.Failed(refusal)
        case is TransportError: KeyInterface.Failed(.notAvailable, .deviceNotWorking)
        default: error
        }
    }
}

extension Turns.Limits {
    // The system gives 255 threads. All of these together take fewer, so that an agent always finds one (DEC-590).

    /// Of changes: each has a thread while it waits for the enclave or the disk, and no app takes all of them.
    static let calls = Turns.Limits(total: 72, perApp: 56)

    /// Of calls that mostly ask the enclave, which takes one at a time.
    ///
    /// So an app has a thread for each core, 2 to 32. With more of them the owner's programs stand in line for a core (DEC-579).
    static let asking = Turns.Limits(total: 40, perApp: min(32, max(2, ProcessInfo.processInfo.activeProcessorCount)))
}
