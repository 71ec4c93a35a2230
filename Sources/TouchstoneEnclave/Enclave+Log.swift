import Foundation
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneMemory

/// What the enclave decides is logged where it is decided; see docs/audit-log.md for what is, and what is not.
extension Enclave {
    mutating func note(_ fact: LogFact) { log.note(fact) }

    /// The sensor, as a factor.
    var biometryFactor: [LogFactor] { LogFactor(state.biometryType).map { [$0] } ?? [] }

    /// A finger or face that is not enrolled.
    mutating func noteNonMatch(app: String?) {
        note(LogFact(event: .biometryRejected, app: app, factors: biometryFactor, result: "not-matched"))
        if state.biometryFailures == Limits.biometryFailures {
            note(LogFact(event: .biometryLockedOut, app: app, factors: biometryFactor))
        }
    }

    /// A silent answer to an app that wanted an evaluation.
    mutating func note(_ request: EnclaveInterface.Preflight.Parameters, _ reply: EnclaveInterface.Preflight.Reply) {
        guard request.context != nil, !request.requirement.proofs.isEmpty, reply.verdict != .interactive else { return }
        let isSatisfied = reply.verdict == .satisfied
        note(
            LogFact(
                event: .evaluationEnded, app: request.app, asked: request.requirement.logged,
                factors: isSatisfied ? [.reuse] : [],
                result: isSatisfied ? "ok" : (reply.code ?? .authenticationFailed).logged, isRepeatable: true))
    }

    mutating func noteEnd(of evaluation: Evaluation, _ end: EvaluationEnd) {
        var fact = LogFact(
            event: .evaluationEnded, app: evaluation.app, asked: evaluation.requirement.logged,
            factors: evaluation.factors)
        // Each success took a finger, a face or a passcode. An app can cancel as often as it likes.
        if case .failed(let code, _) = end {
            fact.result = code.logged
            fact.isRepeatable = true
        }
        note(fact)
    }

    /// What a context has proven, for an entry about its use.
    func factors(of proven: Proven) -> [LogFactor] {
        (isEnrolled && proven.biometry == state.database.hash ? biometryFactor : [])
            + (proven.passcode ? [.passcode] : [])
    }

    /// What is logged of a private key's use; nil where it is no key of ours.
    func keyUsed(
        _ use: EnclaveInterface.KeyUse, _ operation: AccessControlOperation, result: String
    ) -> LogFact? {
        guard let blob = PrivateKeyBlob(use.key, key: blobKey.symmetricKey) else { return nil }
        let withPassword = blob.control.flags.contains(.applicationPassword)
        var factors: [LogFactor] = []
        if result == "ok" {
            if !blob.control.requirement.proofs.isEmpty, let context = contexts[use.context ?? ""] {
                factors = self.factors(of: context.proven)
            }
            if withPassword { factors.append(.applicationPassword) }
        }
        return LogFact(
            event: .keyUsed, app: use.app, asked: operation.logged, factors: factors, result: result, isRepeatable: true
        )
    }

    /// The line of an item that was opened, or was not, because of its access control.
    func itemOpened(
        _ requirement: Requirement, withPassword: Bool, app: String, context: Context?, result: String = "ok"
    ) -> LogFact {
        LogFact(
            event: .itemOpened, app: app,
            asked: [requirement.logged, withPassword ? "applicationPassword" : nil].compactMap { $0 }
                .joined(separator: " and "),
            factors: result == "ok"
                ? (requirement.proofs.isEmpty ? [] : context.map { factors(of: $0.proven) } ?? [])
                    + (withPassword ? [.applicationPassword] : []) : [],
            result: result, isRepeatable: true)
    }
}

extension LogChain {
    /// The log of the device that has this key.
    init(deviceKey: SecretBytes, kept: KeptLog?) {
        self.init(
            key: deviceKey.derive("log").symmetricKey, boot: SecretBytes.random(count: 8).publicBytes, kept: kept)
    }
}

extension LogFact {
    /// What touchstoned saw.
    init(_ request: EnclaveInterface.NoteObservation.Parameters) {
        let event: LogEvent =
            switch request.observation {
            case .agentConnected: .agentConnected
            case .agentLost: .agentLost
            case .logInterrupted: .logInterrupted
            case .callRefused: .callRefused
            }
        if event == .callRefused {
            // A word of ours, or none of it: what touchstoned makes up is not written down.
            guard let refused = request.refused, let cause = RefusalCause(rawValue: refused.reason) else {
                self.init(event: event, author: .touchstoned, result: "others", isRepeatable: true)
                return
            }
            self.init(refused: refused.app, cause, refused.requirement)
            author = .touchstoned
            return
        }
        self.init(
            event: event, author: .touchstoned,
            // What is counted here is counted here alone.
            count: event == .logInterrupted ? request.count.map { max($0, 0) } : nil,
            isRepeatable: event != .logInterrupted)
    }
}

extension LogFact {
    /// A call that was refused for this cause, and what it wanted of the owner.
    init(refused app: String, _ cause: RefusalCause, _ requirement: Requirement?) {
        self.init(
            event: .callRefused, app: app, asked: requirement?.logged, result: cause.rawValue, isRepeatable: true)
    }

    init(keyCreated request: EnclaveInterface.CreateKey.Parameters) {
        self.init(
            event: .keyCreated, app: request.app, asked: request.accessControl.requirement.logged, isRepeatable: true)
    }
}

extension AccessControlOperation {
    /// For the log.
    var logged: String {
        switch self {
        case .createItem, .createKey: "create"
        case .useItem: "read"
        case .useKeySign: "sign"
        case .useKeyDecrypt: "decrypt"
        case .useKeyKeyExchange: "key exchange"
        }
    }
}

extension Requirement {
    /// For the log: "presence", "biometryAny or passcode"; nil where nothing is required.
    var logged: String? {
        proofs.isEmpty ? nil : proofs.map(\.rawValue).joined(separator: anyOne ? " or " : " and ")
    }
}

extension AuthenticationFailure {
    /// The name of the case: what scripts can look for.
    var logged: String { String(describing: self) }
}

extension EnclaveHost {
    /// Logs what changes nothing in the state.
    func note(_ facts: [LogFact]) {
        guard !facts.isEmpty else { return }
        log { log, now, date in
            for fact in facts { log.note(fact) }
            return log.lines(now: now, date: date)
        }
    }

    /// Logs what touchstoned saw: so many times, where it counted.
    func note(_ request: EnclaveInterface.NoteObservation.Parameters) {
        let fact = LogFact(request)
        log { log, now, date in
            log.note(fact, times: fact.event == .callRefused ? max(request.count ?? 1, 1) : 1)
            return log.lines(now: now, date: date)
        }
    }

    /// Logs that an app was refused something, where that has a cause.
    func noteRefusal(of app: String, _ reason: String?, _ control: AccessControl?) {
        guard let cause = reason.flatMap(RefusalCause.init) else { return }
        note([LogFact(refused: app, cause, control?.requirement)])
    }

    /// Does what an app asks for, and logs it where that is refused.
    func notingRefusal<R>(of app: String, _ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as KeyInterface.Failed {
            noteRefusal(of: app, error.reason, error.accessControl)
            throw error
        }
    }

    /// Wraps an item's key, or logs why not.
    func wrap(_ request: EnclaveInterface.WrapKey.Parameters) throws -> EnclaveInterface.WrapKey.Reply {
        do {
            let reply: EnclaveInterface.WrapKey.Reply = try read {
                .init(wrappedKey: try $0.wrap(request, now: $1), generation: Int($0.generation))
            }
            if request.accessControl.isConstrained { changeInMemory { $0.itemWrapped(request.binding) } }
            return reply
        } catch let error as EnclaveInterface.NotWrapped {
            noteRefusal(of: request.app, error.reason, request.accessControl)
            throw error
        }
    }

    /// Logs a part of a backup.
    func note(_ event: LogEvent, _ keys: [EnclaveInterface.RewrappedKey]) {
        let count = keys.count { $0.verdict == .wrapped }
        if count > 0 { note([LogFact(event: event, count: count, isRepeatable: true)]) }
    }

    /// Which of these lines this enclave wrote.
    func checkLog(_ lines: [String]) -> [Bool] {
        let log = read { enclave, _ in enclave.log }
        return lines.map(log.isGenuine)
    }

    /// Writes what was only counted, and says where the log ends.
    func logHead() -> LogHead {
        log { log, now, date in log.linesWithCounts(now: now, date: date) }
        return read { enclave, _ in enclave.log.head }
    }

    /// Begins the log of this boot; a state that cannot be written is no reason not to boot.
    func resumeLog(newestLines: [String]) {
        keepingLog { log, now, date in
            log.resume(newestLines: newestLines.suffix(EnclaveInterface.ResumeLog.maximumLines))
            return log.lines(now: now, date: date)
        }
    }

    /// Ends the log of this boot.
    func closeLog() -> LogHead {
        keepingLog { log, now, date in log.close(now: now, date: date) }
        return read { enclave, _ in enclave.log.head }
    }
}
