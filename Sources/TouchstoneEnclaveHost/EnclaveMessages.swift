import Foundation
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneTransport

// The enclave's values, as the messages of io.touchstone.Enclave.

/// The same word on the other side; that both have it is held by a test.
func word<Word: RawRepresentable<String>>(_ value: some RawRepresentable<String>) -> Word {
    guard let word = Word(rawValue: value.rawValue) else {
        preconditionFailure("the interface and the enclave differ in \(value.rawValue)")
    }
    return word
}

// MARK: events

extension EnclaveInterface.WatchEvents.Reply {
    init(_ event: EnclaveEvent) {
        switch event {
        case .environmentChanged: self.init(outcome: .progress)
        case .evaluationProgressed(let evaluation, let progress):
            self.init(evaluation: evaluation, outcome: .progress, progress: .init(progress))
        case .evaluationEnded(let evaluation, .succeeded): self.init(evaluation: evaluation, outcome: .succeeded)
        case .evaluationEnded(let evaluation, .failed(let code, let cause)):
            self.init(evaluation: evaluation, outcome: .failed, code: code, cause: cause)
        case .answered(let ticket, let answer):
            self.init(ticket: ticket, outcome: .failed)
            switch answer {
            case .done: outcome = .succeeded
            case .rejected(let seconds): retryAfterSeconds = seconds
            case .refused(let reason): refusal = word(reason)
            case .failed: break
            case .keyUsed(let product): (outcome, key) = (.succeeded, .init(product))
            case .keyRefused(let refusal): key = .init(refusal)
            }
        case .logged(let lines): self.init(outcome: .progress, log: lines)
        case .erased: self.init(outcome: .erased)
        case .locked: self.init(outcome: .locked)
        case .unlocked: self.init(outcome: .unlocked)
        }
    }
}

extension EnclaveInterface.Progress {
    init(_ progress: Enclave.Progress) {
        self.init(
            phase: word(progress.phase), fallbackIsPasscode: progress.fallbackIsPasscode,
            isFallbackOffered: progress.isFallbackOffered, failures: progress.failures,
            hint: progress.hint.map(word), nonce: progress.nonce, retryAfterSeconds: progress.retryAfterSeconds,
            wrongPasscode: progress.wrongPasscode, passcodeKind: progress.passcodeKind)
    }
}

extension EnclaveInterface.KeyResult {
    init(_ product: KeyProduct) {
        switch product {
        case .made(let made): self.init(key: made.key, publicKey: made.publicKey)
        case .signature(let signature): self.init(signature: signature)
        case .sharedSecret(let secret): self.init(sharedSecret: secret)
        }
    }

    init(_ refusal: KeyRefusal) {
        switch refusal {
        case .failed(let status, let cause, _): self.init(status: status.rawValue, reason: cause?.rawValue)
        case .invalidated(let cause): self.init(isInvalidated: true, reason: cause.rawValue)
        // What was there when it was begun is not any more: the app's password.
        case .needed, .wrongPassword:
            self.init(status: Status.authFailed.rawValue, reason: RefusalCause.noApplicationPassword.rawValue)
        }
    }
}

// MARK: answers

extension EnclaveInterface.Facts {
    init(_ facts: Enclave.Facts) {
        self.init(
            isSimulated: facts.isSimulated, rootOfTrust: facts.rootOfTrust, biometryType: facts.biometryType,
            isEnrolled: facts.isEnrolled, isPasscodeSet: facts.isPasscodeSet, passcodeKind: facts.passcodeKind,
            erasesData: facts.erasesData, wasErased: facts.wasErased, isLocked: facts.isLocked,
            wasUnlockedSinceBoot: facts.wasUnlockedSinceBoot, isBiometryLockedOut: facts.isBiometryLockedOut,
            passcodeFailures: facts.passcodeFailures, passcodeRetryAfterSeconds: facts.passcodeRetryAfterSeconds,
            isPasscodeDisabled: facts.isPasscodeDisabled, domainState: facts.domainState,
            sensor: facts.sensor.map {
                .init(
                    kind: word($0.kind), name: $0.name, problem: $0.problem.map(word), isWeak: $0.isWeak,
                    areTemplatesRead: $0.areTemplatesRead)
            }, areKeysInTPM: facts.areKeysInTPM)
    }
}

extension EnclaveInterface.Preflight.Reply {
    init(_ verdict: Enclave.Verdict, _ biometryType: BiometryType) {
        switch verdict {
        case .satisfied: self.init(verdict: .satisfied, biometryType: biometryType)
        case .interactive: self.init(verdict: .interactive, biometryType: biometryType)
        case .refused(let cause):
            self.init(verdict: .refused, code: cause.failure, cause: cause, biometryType: biometryType)
        }
    }
}

extension EnclaveInterface.BeginEvaluation.Reply {
    /// With `isContextMade` the answer names the context, which the question did not.
    ///
    /// - Throws: `NotBegun` where nobody is asked.
    init(_ beginning: Enclave.Beginning, _ biometryType: BiometryType, isContextMade: Bool) throws {
        switch beginning {
        case .begun(let evaluation, let context, let progress):
            self.init(
                evaluation: evaluation, progress: .init(progress), biometryType: biometryType,
                context: isContextMade ? context : nil)
        case .satisfied(let context):
            throw EnclaveInterface.NotBegun(
                verdict: .satisfied, biometryType: biometryType, context: isContextMade ? context : nil)
        case .refused(let cause):
            throw EnclaveInterface.NotBegun(
                verdict: .refused, code: cause.failure, reason: cause.rawValue, biometryType: biometryType)
        }
    }
}

extension EnclaveInterface.GetMetadataKeys.Reply {
    init(_ found: Enclave.MetadataKeys) {
        func byCode<Value>(_ keys: [Accessibility: Value]) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: keys.map { ($0.key.rawValue, $0.value) })
        }
        self.init(
            keys: byCode(found.keys), destroyed: found.destroyed.map(\.rawValue),
            isErasurePending: found.isErasurePending, generation: found.generation,
            earlier: found.earlier.isEmpty ? nil : byCode(found.earlier))
    }
}

extension EnclaveInterface.CompareItems.Reply {
    init(_ look: Enclave.ItemsLook) {
        self.init(isRecorded: look.isRecorded, altered: look.altered.map(Int.init), look: look.look)
    }
}

extension EnclaveInterface.OpenedItem {
    init(_ opened: Enclave.Opened) {
        self.init(
            state: word(opened.state), key: opened.key, accessControl: opened.control,
            rewrappedKey: opened.rewrappedKey)
    }
}

extension EnclaveInterface.RewrappedKey {
    init(_ key: Enclave.RewrappedKey) {
        switch key {
        case .wrapped(let wrappedKey): self.init(.wrapped, wrappedKey: wrappedKey)
        case .locked: self.init(verdict: .locked, wrappedKey: nil)
        case .excluded: self.init(verdict: .excluded, wrappedKey: nil)
        case .gone: self.init(verdict: .gone, wrappedKey: nil)
        }
    }
}

extension EnclaveInterface.Prospect {
    init(_ prospect: Enclave.Prospect) {
        self.init(word(prospect.availability), obstacle: prospect.obstacle)
    }
}

// MARK: questions

extension Enclave.Caller {
    /// Connection 0, which touchstoned never uses, where it does not say.
    init(_ caller: EnclaveInterface.Caller?) { self.init(connection: caller?.connection ?? 0, app: caller?.app) }
}

extension Enclave.EvaluationRequest {
    init(_ request: EnclaveInterface.Preflight.Parameters) {
        self.init(
            context: request.context, app: request.app, requirement: request.requirement,
            reuseDuration: request.reuseDuration, isFaceIDDescribed: request.isFaceIDDescribed,
            validFor: request.validFor)
    }
}

extension Enclave.EvaluationStart {
    init(_ request: EnclaveInterface.BeginEvaluation.Parameters) {
        self.init(
            context: request.accessGroups == nil ? request.context : nil, accessGroups: request.accessGroups ?? [],
            app: request.app, requirement: request.requirement, isFallbackHidden: request.isFallbackHidden,
            isFaceIDDescribed: request.isFaceIDDescribed, replaces: request.replaces,
            reuseDuration: request.reuseDuration ?? 0, validFor: request.validFor)
    }
}

extension Enclave.ItemBinding {
    init(_ binding: EnclaveInterface.ItemBinding) { self.init(accessGroup: binding.accessGroup, item: binding.item) }
}

extension Enclave.WrappedItem {
    init(_ item: EnclaveInterface.WrappedItem) {
        self.init(wrappedKey: item.wrappedKey, binding: .init(item.binding))
    }
}

extension Enclave.ItemKey {
    init(_ request: EnclaveInterface.WrapKey.Parameters) {
        self.init(
            accessControl: request.accessControl, binding: .init(request.binding), key: request.key, app: request.app,
            context: request.context)
    }

    /// The same for keys of what is still to be written.
    static func spares(of request: EnclaveInterface.WrapKey.Parameters) -> [Enclave.ItemKey] {
        (request.spares ?? []).map { spare in
            var key = Enclave.ItemKey(request)
            key.binding.item = spare.item
            key.key = spare.key
            return key
        }
    }
}

extension Enclave.ItemsChange {
    init(_ request: EnclaveInterface.RecordItems.Parameters) {
        self.init(
            removed: request.removed, added: request.added, isFirst: request.isFirst, isLast: request.isLast,
            isDeletion: request.isDeletion)
    }
}

extension Enclave.BackupKey {
    init(_ key: EnclaveInterface.BackupKey) {
        self.init(wrappedKey: key.wrappedKey, binding: .init(key.binding), accessControl: key.accessControl)
    }
}

extension Enclave.KeyCreation {
    init(_ request: EnclaveInterface.CreateKey.Parameters) {
        self.init(
            kind: word(request.kind), accessControl: request.accessControl, accessGroup: request.accessGroup,
            app: request.app, context: request.context)
    }
}

extension Enclave.KeyRequest {
    init(_ use: EnclaveInterface.KeyUse) {
        self.init(key: use.key, app: use.app, accessGroups: use.accessGroups, context: use.context)
    }
}

extension Enclave.Observation {
    init(_ request: EnclaveInterface.NoteObservation.Parameters) {
        switch request.observation {
        case .agentConnected: self = .agentConnected
        case .agentLost: self = .agentLost
        case .logInterrupted: self = .logInterrupted(lines: request.count)
        case .callRefused:
            // A word of ours, or none of it: what touchstoned makes up is not written down.
            let refused = request.refused.flatMap { refused in
                RefusalCause(rawValue: refused.reason).map {
                    Enclave.RefusedCall(
                        app: refused.app, client: refused.client, cause: $0, requirement: refused.requirement)
                }
            }
            self = .callRefused(refused, count: request.count ?? 1)
        }
    }
}

// MARK: errors

/// An error of the enclave's, or its host's, that has a message.
protocol ToldError: Error {
    var told: any VarlinkError { get }
}

extension Enclave.Refused: ToldError {
    var told: any VarlinkError { DeviceInterface.Refused(word(reason)) }
}

extension Enclave.InvalidContext: ToldError {
    var told: any VarlinkError { EnclaveInterface.InvalidContext() }
}

extension Enclave.NotWrapped: ToldError {
    var told: any VarlinkError { EnclaveInterface.NotWrapped(status, cause) }
}

extension Enclave.NoSuchBackup: ToldError {
    var told: any VarlinkError { EnclaveInterface.NoSuchBackup() }
}

extension MalformedItems: ToldError {
    var told: any VarlinkError { VarlinkServiceError.InvalidParameter(parameter: parameter) }
}

extension TooManyItems: ToldError {
    var told: any VarlinkError { EnclaveInterface.NotKept() }
}

extension AdvancedClock.InvalidDuration: ToldError {
    var told: any VarlinkError { VarlinkServiceError.InvalidParameter(parameter: "seconds") }
}

extension EnclaveHost.NotKept: ToldError {
    var told: any VarlinkError { EnclaveInterface.NotKept() }
}

extension KeyRefusal: ToldError {
    var told: any VarlinkError {
        switch self {
        case .failed(let status, let cause, let control): KeyInterface.Failed(status, cause, control)
        case .invalidated(let cause): KeyInterface.Invalidated(cause)
        case .needed(let control, let operation), .wrongPassword(let control, let operation):
            EnclaveInterface.AuthenticationNeeded(accessControl: control, operation: operation)
        }
    }
}

extension Enclave.CircleRefused: ToldError {
    var told: any VarlinkError { EnclaveInterface.CircleRefused(reason: word(reason)) }
}
