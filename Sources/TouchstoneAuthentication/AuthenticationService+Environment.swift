import Dispatch
import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

extension AuthenticationService {
    /// A connection that is told of every change, and what it was told last.
    struct EnvironmentWatcher: Sendable {
        var call: VarlinkCall<AuthenticationInterface.GetEnvironment>
        var app: AppIdentifier
        var told: AuthenticationInterface.Environment
    }

    var environmentHandlers: [VarlinkHandler] {
        [
            .method(AuthenticationInterface.GetIdentity.self) { _, connection in
                .init(try connection.identity())
            },
            .deferred(AuthenticationInterface.GetEnvironment.self) { [self] _, call in
                guard call.wantsMore else {
                    call.connection.perform(inTurnOf: calls) { [self] _ in
                        call.answer(Result { .init(environment: try environment(of: call.connection)) })
                    }
                    return
                }
                call.connection.endTurn()
                // In turn with the changes: none is lost between the first answer and the next.
                environments.async { [self] in watch(call) }
            },
        ]
    }

    private func watch(_ call: VarlinkCall<AuthenticationInterface.GetEnvironment>) {
        do {
            let environment = try environment(of: call.connection)
            let app = try call.connection.identity().identifier
            let key = ObjectIdentifier(call.connection)
            let hasRoom = state.withLock { state in
                let watchers = state.environmentWatchers.values
                guard watchers.count < Limits.environmentWatchers,
                    watchers.count(where: { $0.app == app }) < Limits.environmentWatchersPerApp
                else { return false }
                state.environmentWatchers[key] = EnvironmentWatcher(call: call, app: app, told: environment)
                return true
            }
            guard hasRoom else {
                throw Failed(.notInteractive, "Too many connections watch the environment.", .tooManyWait)
            }
            call.continue(.init(environment: environment))
            call.connection.onClose { [weak self] in
                self?.state.withLock { _ = $0.environmentWatchers.removeValue(forKey: key) }
            }
        } catch {
            call.answer(.failure(error))
        }
    }

    /// Tells those whom it concerns; to be called after anything that may have changed what `environment(of:)` says.
    ///
    /// Returns at once: the events of evaluations do not wait for it. Who watches is looked at in turn, as one may just be about to.
    func environmentChanged() {
        environments.async { [self] in
            // It is the same for all of an app.
            var looked: [AppIdentifier: AuthenticationInterface.Environment] = [:]
            for (key, watcher) in state.withLock({ $0.environmentWatchers }) {
                let seen = looked[watcher.app] ?? (try? environment(of: watcher.call.connection))
                looked[watcher.app] = seen
                guard let environment = seen, environment != watcher.told else { continue }
                // What waits for one that does not read has an end.
                guard watcher.call.connection.isReading else {
                    watcher.call.drop()
                    continue
                }
                state.withLock { $0.environmentWatchers[key]?.told = environment }
                watcher.call.continue(.init(environment: environment))
            }
        }
    }

    /// What the app at the other end may know (CE-19), as it was at one moment: three looks that do not fit together are repeated.
    private func environment(of connection: VarlinkConnection) throws -> AuthenticationInterface.Environment {
        let app = try connection.identity().identifier
        func look() throws -> EnclaveInterface.Facts {
            var facts = try enclave.call(EnclaveInterface.GetFacts.self, .init(app: app)).facts
            // These seconds pass with every look.
            facts.passcodeRetryAfterSeconds = nil
            return facts
        }
        func isUsable(_ policy: Policy) throws -> Bool {
            try canEvaluate(.init(context: nil, policy: policy), connection).code == nil
        }
        var facts = try look()
        var isUsableWith: (biometry: Bool, passcode: Bool)
        var before: EnclaveInterface.Facts
        repeat {
            before = facts
            isUsableWith = (
                try isUsable(.deviceOwnerAuthenticationWithBiometrics), try isUsable(.deviceOwnerAuthentication)
            )
            facts = try look()
        } while facts != before
        return .init(
            biometryType: facts.biometryType, isBiometryUsable: isUsableWith.biometry,
            isBiometryEnrolled: facts.isEnrolled,
            // What is not there cannot be locked out.
            isBiometryLockedOut: facts.isEnrolled && facts.isBiometryLockedOut,
            isPasscodeUsable: isUsableWith.passcode, isPasscodeSet: facts.isPasscodeSet,
            domainState: facts.domainState)
    }

    // MARK: canEvaluatePolicy

    func canEvaluate(
        _ request: AuthenticationInterface.CanEvaluatePolicy.Parameters, _ connection: VarlinkConnection
    ) throws -> AuthenticationInterface.CanEvaluatePolicy.Reply {
        let app = try connection.identity().identifier
        let facts = try enclave.call(EnclaveInterface.GetFacts.self, .init(app: app)).facts
        func reply(_ code: AuthenticationFailure?) -> AuthenticationInterface.CanEvaluatePolicy.Reply {
            // CE-06: the type is told whatever the answer. CE-13, DS-01: the state only with a yes to a biometric policy.
            .init(
                code: code, biometryType: facts.biometryType,
                domainState: code == nil && request.policy.isBiometric ? facts.domainState : nil)
        }
        if let context = request.context, try !isOwner(connection, of: context) { return reply(.invalidContext) }
        guard let requirement = Requirement(request.policy) else { return reply(.companionNotAvailable) }
        let preflight = try enclave.call(
            EnclaveInterface.Preflight.self,
            .init(context: nil, app: app, requirement: requirement, reuseDuration: 0, isFaceIDDescribed: true))
        return reply(preflight.verdict == .refused ? preflight.code : nil)
    }
}
