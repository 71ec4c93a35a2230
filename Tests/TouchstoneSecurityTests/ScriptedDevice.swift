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
        /// Calls for items want the owner's proof, each time unless their context has it.
        var wanted: AccessControl?
        var evaluation = Answer.success
        var options: [AuthenticationInterface.Options] = []
        var calls = 0
        var lastAttributes: KeychainInterface.Dictionary = [:]
        var closedEvaluations = 0
        /// Carries an addition out and dies before it answers.
        var dropsAdd = false
        /// Carries the next search out and dies before it answers.
        var dropsNextSearch = false
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
            .deferred(KeychainInterface.CopyMatching.self) { parameters, call in
                self.authorize(parameters.query, parameters.context, parameters.options, call) {
                    let (isDropped, items) = self.state.withLock { state in
                        defer { state.dropsNextSearch = false }
                        return (state.dropsNextSearch, state.items)
                    }
                    if isDropped { call.connection.close() }
                    return .init(items: items)
                }
            },
            .deferred(KeychainInterface.Add.self) { parameters, call in
                self.authorize(parameters.attributes, parameters.context, parameters.options, call) {
                    if self.state.withLock({ $0.dropsAdd }) { call.connection.close() }
                    return .init(item: self.state.withLock { $0.items.first } ?? .init())
                }
            },
            .deferred(KeychainInterface.Update.self) { parameters, call in
                self.authorize(parameters.query, parameters.context, parameters.options, call) { Empty() }
            },
            .method(KeychainInterface.Delete.self) { _, _ in throw KeychainInterface.Failed(.itemNotFound) },
        ]
    }

    /// Answers a call for an item: at once where it needs no proof, else as the script says of the evaluation.
    private func authorize<M: VarlinkMethod>(
        _ attributes: KeychainInterface.Dictionary, _ context: String?, _ options: AuthenticationInterface.Options?,
        _ call: VarlinkCall<M>, _ reply: () -> M.Reply
    ) {
        let (wanted, answer) = state.withLock { state -> (AccessControl?, Answer) in
            state.calls += 1
            state.lastAttributes = attributes
            guard let wanted = state.wanted else { return (nil, .success) }
            if let context, state.authenticated.contains(context) { return (wanted, .success) }
            guard let options else { return (wanted, .failure(.notInteractive)) }
            state.options.append(options)
            if let context, !state.contexts.contains(context) { return (wanted, .failure(.invalidContext)) }
            if options.interactionNotAllowed { return (wanted, .failure(.notInteractive)) }
            if case .success = state.evaluation, let context { state.authenticated.insert(context) }
            return (wanted, state.evaluation)
        }
        switch answer {
        case .success: call.reply(reply())
        case .failure(let code):
            guard let wanted else { return call.drop() }
            guard options != nil else {
                return call.fail(KeychainInterface.Failed(.interactionNotAllowed, .interactionForbidden, wanted))
            }
            call.fail(KeychainInterface.Failed(AuthenticationInterface.Failed(code, "scripted"), wanted))
        case .never: call.connection.onClose { self.set { $0.closedEvaluations += 1 } }
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
    static let userPresence = try! AccessControl(protection: .whenUnlocked, flags: .userPresence)
}
