import Foundation
import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

/// A device that answers as a test wants it to, behind the same frames as a real one.
final class ScriptedDevice: Sendable {
    enum Answer: Sendable {
        case success
        case failure(AuthenticationFailure)
        /// As a prompt that nobody touches.
        case never
    }

    struct State: Sendable {
        var contexts: Set<String> = []
        var authenticated: Set<String> = []
        var created = 0
        var items: [KeychainInterface.Item] = []
        /// Keychain calls want authentication until their context has it.
        var needed: [KeychainInterface.ConstrainedOperation] = []
        /// Wanted however often it was given.
        var isInsatiable = false
        var evaluation = Answer.success
        var options: [AuthenticationInterface.Options] = []
        var calls = 0
        var lastAttributes: KeychainInterface.Dictionary = [:]
        var closedEvaluations = 0
        /// Carries an addition out and dies before it answers.
        var dropsAdd = false
    }

    let state = Mutex(State())

    var endpoint: LoopbackEndpoint {
        LoopbackEndpoint(router: router, peer: Peer(processID: 1, userID: 1) { nil })
    }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    var router: VarlinkRouter {
        VarlinkRouter(
            info: .init(product: "scripted", version: "0"),
            interfaces: [
                VarlinkInterface(name: AuthenticationInterface.name, description: [], handlers: authentication),
                VarlinkInterface(name: KeychainInterface.name, description: [], handlers: keychain),
            ])
    }

    private var authentication: [VarlinkHandler] {
        [
            .method(AuthenticationInterface.CreateContext.self) { _, connection in
                let name = self.state.withLock { state in
                    state.created += 1
                    state.contexts.insert("context \(state.created)")
                    return "context \(state.created)"
                }
                connection.onClose { self.forget(name) }
                return .init(context: name)
            },
            .method(AuthenticationInterface.InvalidateContext.self) { parameters, _ in
                self.forget(parameters.context)
                return Empty()
            },
            .method(AuthenticationInterface.CanEvaluatePolicy.self) { parameters, _ in
                .init(
                    code: parameters.policy == .deviceOwnerAuthentication ? nil : .biometryNotEnrolled,
                    biometryType: .touchID, domainState: nil)
            },
            .deferred(AuthenticationInterface.EvaluatePolicy.self) { parameters, call in
                self.evaluate(parameters.context, parameters.options, call)
            },
            .deferred(AuthenticationInterface.EvaluateAccessControl.self) { parameters, call in
                self.evaluate(parameters.context, parameters.options, call)
            },
        ]
    }

    private var keychain: [VarlinkHandler] {
        [
            .method(KeychainInterface.CopyMatching.self) { parameters, _ in
                try self.authorize(parameters.query, parameters.context)
                return .init(items: self.state.withLock { $0.items })
            },
            .method(KeychainInterface.Add.self) { parameters, connection in
                try self.authorize(parameters.attributes, parameters.context)
                if self.state.withLock({ $0.dropsAdd }) { connection.close() }
                return .init(item: self.state.withLock { $0.items.first } ?? .init())
            },
            .method(KeychainInterface.Update.self) { parameters, _ in
                try self.authorize(parameters.query, parameters.context)
                return Empty()
            },
            .method(KeychainInterface.Delete.self) { _, _ in throw KeychainInterface.Failed(.itemNotFound) },
        ]
    }

    private func authorize(_ attributes: KeychainInterface.Dictionary, _ context: String?) throws {
        try state.withLock { state in
            state.calls += 1
            state.lastAttributes = attributes
            guard !state.needed.isEmpty else { return }
            if !state.isInsatiable, let context, state.authenticated.contains(context) { return }
            throw KeychainInterface.AuthenticationNeeded(operations: state.needed)
        }
    }

    private func evaluate<M: VarlinkMethod>(
        _ context: String, _ options: AuthenticationInterface.Options, _ call: VarlinkCall<M>
    ) where M.Reply == AuthenticationInterface.EvaluatePolicy.Reply {
        let answer: Answer = state.withLock { state in
            state.options.append(options)
            guard state.contexts.contains(context) else { return .failure(.invalidContext) }
            if options.interactionNotAllowed { return .failure(.notInteractive) }
            if case .success = state.evaluation { state.authenticated.insert(context) }
            return state.evaluation
        }
        switch answer {
        case .success: call.reply(.init(domainState: Data([1])))
        case .failure(let code): call.fail(AuthenticationInterface.Failed(code, "scripted"))
        case .never: call.connection.onClose { self.set { $0.closedEvaluations += 1 } }
        }
    }

    private func forget(_ context: String) {
        set { state in
            state.contexts.remove(context)
            state.authenticated.remove(context)
        }
    }
}

extension ScriptedDevice.State {
    // A combination that AC-02 allows.
    // swift-format-ignore: NeverUseForceTry
    static let useItem = KeychainInterface.ConstrainedOperation(
        accessControl: try! AccessControl(protection: .whenUnlocked, flags: .userPresence), operation: .useItem)
}
