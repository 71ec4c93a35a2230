import Foundation
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneLog

/// What comes of a private key's making or use: at once, or with an event.
enum KeyAnswer<Product: Sendable>: Sendable {
    case done(Product)
    /// The hardware does it meanwhile; the event has this ticket.
    case later(ticket: String)
}

// What these throw is a `KeyRefusal`, or `EnclaveHost.NotKept`.
extension EnclaveHost {
    func createKey(_ request: Enclave.KeyCreation) throws -> KeyAnswer<MadeKey> {
        guard request.kind == .p256, read({ enclave, _ in enclave.areKeysHeld }) else {
            let made = try notingRefusal(of: request.app, in: request.context) { enclave throws(KeyRefusal) in
                try enclave.createKey(request)
            }
            note([LogFact(keyCreated: request)])
            return .done(made)
        }
        // What is refused is refused before the hardware is asked.
        try notingRefusal(of: request.app, in: request.context) { enclave throws(KeyRefusal) in
            try enclave.checkCanCreateKey(request)
        }
        return .later(
            ticket: try later { [self] work in
                let (key, publicKey) = try work.makeKey()
                let made = try read { enclave, _ throws(KeyRefusal) in
                    try enclave.createKey(request, held: key, publicKey: publicKey)
                }
                note([LogFact(keyCreated: request)])
                return .made(made)
            })
    }

    func inspectKey(_ key: Data, accessGroups: [AccessGroup]) throws -> Enclave.KeyDescription {
        try read { enclave, _ throws(KeyRefusal) in try enclave.inspectKey(key, accessGroups: accessGroups) }
    }

    func sign(_ data: Data, with request: Enclave.KeyRequest) throws -> KeyAnswer<Data> {
        try use(
            request, for: .useKeySign, held: { .signature(try $0.signature(of: data, by: $1)) }
        ) { $0.sign(data, with: request) }
    }

    func exchangeKeys(
        with publicKey: Data, _ request: Enclave.KeyRequest, for operation: AccessControlOperation
    ) throws -> KeyAnswer<Data> {
        try use(
            request, for: operation, held: { .sharedSecret(try $0.sharedSecret(with: publicKey, by: $1)) }
        ) { $0.exchangeKeys(with: publicKey, request, for: operation) }
    }

    func signMessage(_ message: Data, context: Data, with request: Enclave.KeyRequest) throws -> KeyAnswer<Data> {
        try use(request, for: .useKeySign) { $0.signMessage(message, context: context, with: request) }
    }

    func decapsulate(_ encapsulated: Data, with request: Enclave.KeyRequest) throws -> KeyAnswer<Data> {
        try use(request, for: .useKeyKeyExchange) { $0.decapsulate(encapsulated, with: request) }
    }

    /// Uses a key; drops an application password that was wrong for it (AC-46).
    ///
    /// `held` does it with a key that is in the hardware.
    private func use<Product: Sendable>(
        _ request: Enclave.KeyRequest, for operation: AccessControlOperation,
        held: @escaping @Sendable (HeldKeyWork, HeldKey) throws -> KeyProduct = { _, _ in
            throw KeyRefusal.failed(.param)
        },
        _ body: (Enclave) -> KeyUse<Product>
    ) throws -> KeyAnswer<Product> {
        // AC-50: what is enrolled when it is used.
        lookAtSensor(for: request.context)
        let (use, fact) = read { enclave, _ in
            let use = body(enclave)
            return (use, use.logged.flatMap { enclave.keyUsed(request, operation, result: $0) })
        }
        func passwordTried(isRight: Bool) throws {
            guard let context = request.context else { return }
            try self.passwordTried(context, app: request.app, isRight: isRight, isWrong: !isRight)
        }
        let withPassword = fact?.factors.contains(.applicationPassword) == true
        switch use {
        case .done(let product):
            note([fact].compactMap(\.self))
            if withPassword { try passwordTried(isRight: true) }
            return .done(product)
        case .held(let key):
            if withPassword { try passwordTried(isRight: true) }
            // It is noted what came of it.
            return .later(ticket: try later(noting: fact) { try held($0, key) })
        case .refused(let refusal):
            note([fact].compactMap(\.self))
            noteRefusal(of: request.app, in: request.context, refusal)
            if case .wrongPassword = refusal { try passwordTried(isRight: false) }
            throw refusal
        }
    }

    /// Has the hardware do something on a queue of its own; what comes of it is told by an event with the ticket that is returned.
    ///
    /// - Throws: `KeyRefusal` where there is no such hardware, or too many wait.
    private func later(
        noting fact: LogFact? = nil, _ work: @escaping @Sendable (HeldKeyWork) throws -> KeyProduct
    ) throws -> String {
        guard let holder = read({ enclave, _ in enclave.root.keyHolder }), beginHeldKeyJob() else {
            throw KeyRefusal.failed(.notAvailable)
        }
        let ticket = random.identifier()
        heldKeys.async { [self] in
            let answer: EnclaveEvent.Answer
            var result: String?
            do {
                answer = .keyUsed(try work(HeldKeyWork(holder, random)))
            } catch {
                let refusal = refusal(for: error)
                result = if case .invalidated = refusal { "invalidated" } else { "not-done" }
                answer = .keyRefused(refusal)
            }
            endHeldKeyJob()
            if var fact {
                if let result { fact.result = result }
                note([fact])
            }
            tell([.answered(ticket: ticket, answer)])
        }
        return ticket
    }

    private func refusal(for error: any Error) -> KeyRefusal {
        switch error {
        case let error as KeyRefusal: return error
        case let error as KeyHolderError:
            report("a key in the TPM cannot be used: \(error)")
            return error.isKeyLost ? .invalidated(.keyLost) : .failed(.notAvailable, .deviceNotWorking)
        default: return .failed(.internalError)
        }
    }

    /// Does what an app asks for, and logs it where that is refused.
    private func notingRefusal<R: Sendable>(
        of app: AppIdentifier, in context: String?, _ body: (Enclave) throws(KeyRefusal) -> R
    ) throws(KeyRefusal) -> R {
        do throws(KeyRefusal) {
            return try read { enclave, _ throws(KeyRefusal) in try body(enclave) }
        } catch {
            noteRefusal(of: app, in: context, error)
            throw error
        }
    }

    private func noteRefusal(of app: AppIdentifier, in context: String?, _ refusal: KeyRefusal) {
        if case .failed(_, let cause, let control) = refusal { noteRefusal(of: app, in: context, cause, control) }
    }
}

extension KeyUse {
    /// What the log says of it, beside refusals; nil: nothing.
    fileprivate var logged: String? {
        switch self {
        case .done, .held: "ok"
        case .refused(.wrongPassword): "wrong-application-password"
        case .refused(.invalidated): "invalidated"
        case .refused(.needed), .refused(.failed): nil
        }
    }
}
