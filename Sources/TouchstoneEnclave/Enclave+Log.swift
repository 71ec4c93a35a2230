import Foundation
package import TouchstoneCore
package import TouchstoneLog
import TouchstoneMemory

/// What the enclave decides is logged where it is decided; see docs/audit-log.md for what is, and what is not.
extension Enclave {
    package mutating func note(_ fact: LogFact) { log.note(fact) }

    /// The sensor, as a factor.
    var biometryFactor: [LogFactor] { LogFactor(state.biometryType).map { [$0] } ?? [] }

    /// A finger or face that is not enrolled.
    mutating func noteNonMatch(app: AppIdentifier?) {
        note(LogFact(event: .biometryRejected, app: app, factors: biometryFactor, result: "not-matched"))
        if state.biometryFailures == Limits.biometryFailures {
            note(LogFact(event: .biometryLockedOut, app: app, factors: biometryFactor))
        }
    }

    /// A silent answer to an app that wanted an evaluation.
    package mutating func note(_ request: EvaluationRequest, _ verdict: Verdict) {
        guard request.context != nil, !request.requirement.proofs.isEmpty else { return }
        let (factors, result): ([LogFactor], String)
        switch verdict {
        case .interactive: return
        case .satisfied: (factors, result) = ([.reuse], "ok")
        case .refused(let cause): (factors, result) = ([], cause.failure.logged)
        }
        note(
            LogFact(
                event: .evaluationEnded, app: request.app, client: contexts[request.context ?? ""]?.client,
                asked: request.requirement.logged,
                factors: factors, result: result, isRepeatable: true))
    }

    mutating func noteEnd(of evaluation: Evaluation, _ end: EvaluationEnd) {
        var fact = LogFact(
            event: .evaluationEnded, app: evaluation.app, client: evaluation.client,
            asked: evaluation.requirement.logged,
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
    package func keyUsed(
        _ use: KeyRequest, _ operation: AccessControlOperation, result: String
    ) -> LogFact? {
        // Of a key that is used again and again its blob is open already.
        let known = openedPrivateKeys.key(use.key, epoch: keysEpoch)?.blob
        guard let blob = known ?? PrivateKeyBlob(use.key, key: blobKey.symmetricKey) else { return nil }
        let withPassword = blob.control.flags.contains(.applicationPassword)
        var factors: [LogFactor] = []
        if result == "ok" {
            if !blob.control.requirement.proofs.isEmpty, let context = contexts[use.context ?? ""] {
                factors = self.factors(of: context.proven)
            }
            if withPassword { factors.append(.applicationPassword) }
        }
        return LogFact(
            event: .keyUsed, app: use.app, client: contexts[use.context ?? ""]?.client, asked: operation.logged,
            factors: factors, result: result, isRepeatable: true)
    }

    /// The line of an item that was opened, or was not, because of its access control.
    func itemOpened(
        _ requirement: Requirement, withPassword: Bool, app: AppIdentifier, context: Context?, result: String = "ok"
    ) -> LogFact {
        LogFact(
            event: .itemOpened, app: app, client: context?.client,
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
    ///
    /// `boot`, 8 bytes, tells this boot's entries from those of any other.
    init(deviceKey: SecretBytes, boot: Data, kept: KeptLog?) {
        self.init(key: deviceKey.derive("log").symmetricKey, boot: boot, kept: kept)
    }
}

extension LogFact {
    /// What touchstoned saw.
    package init(_ observation: Enclave.Observation) {
        switch observation {
        case .agentConnected: self.init(event: .agentConnected, author: .touchstoned, isRepeatable: true)
        case .agentLost: self.init(event: .agentLost, author: .touchstoned, isRepeatable: true)
        case .logInterrupted(let lines):
            self.init(event: .logInterrupted, author: .touchstoned, count: lines.map { max($0, 0) })
        case .callRefused(nil, _):
            self.init(event: .callRefused, author: .touchstoned, result: "others", isRepeatable: true)
        case .callRefused(let refused?, _):
            self.init(refused: refused.app, for: refused.client, refused.cause, refused.requirement)
            author = .touchstoned
        }
    }
}

extension LogFact {
    /// A call that was refused for this cause, and what it wanted of the owner; `client` is for whom a bridge made it (ND-1).
    package init(
        refused app: AppIdentifier, for client: AppIdentifier?, _ cause: RefusalCause, _ requirement: Requirement?
    ) {
        self.init(
            event: .callRefused, app: app, client: client, asked: requirement?.logged, result: cause.rawValue,
            isRepeatable: true)
    }

    package init(keyCreated request: Enclave.KeyCreation) {
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
