import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// A root of trust whose secret the test chooses.
struct TestRoot: RootOfTrust {
    let secret: Data
    let kind = "software"

    init(_ byte: UInt8 = 1) { secret = Data(repeating: byte, count: 32) }

    func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: SymmetricKey(data: secret))
        code.update(data: Data("\(label.utf8.count) \(label)".utf8))
        code.update(data: input)
        return SecretBytes(code.finalize())
    }
}

/// Remembers everything that was ever written, and fails when told to.
final class TestStorage: EnclaveStorage {
    struct Full: Error {}

    private let state: Mutex<(versions: [Data], isFull: Bool)>

    init(_ first: Data) { state = Mutex(([first], false)) }

    var versions: [Data] { state.withLock { $0.versions } }
    var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    func load() throws -> Data? { versions.last }
    func replace(_ bytes: Data) throws {
        try state.withLock { state in
            if state.isFull { throw Full() }
            state.versions.append(bytes)
        }
    }
}

struct StandingClock: TimeSource {
    let now = 1000.0
}

extension Requirement {
    static let biometrics = Requirement(proofs: [.biometryAny])
    static let deviceOwner = Requirement(proofs: [.presence])
}

func seal(
    _ passcodes: String..., to publicKey: Data, nonce: Data, for purpose: SealedPasscode.Purpose = .unlock,
    info: Data = SealedPasscode.info
) throws -> SealedPasscode {
    try seal(passcodes.map { Data($0.utf8) }, to: publicKey, nonce: nonce, for: purpose, info: info)
}

func seal(
    _ entries: [Data], to publicKey: Data, nonce: Data, for purpose: SealedPasscode.Purpose,
    info: Data = SealedPasscode.info
) throws -> SealedPasscode {
    let payload = SealedPasscode.payload(entries)
    var sender = try HPKE.Sender(
        recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
        ciphersuite: .Curve25519_SHA256_ChachaPoly, info: info)
    let ciphertext = try sender.seal(payload, authenticating: SealedPasscode.context(purpose, nonce: nonce))
    return SealedPasscode(encapsulatedKey: Data(sender.encapsulatedKey), ciphertext: Data(ciphertext))
}

extension Enclave {
    /// A device that was set up at 0 and is unlocked.
    static func device(
        _ biometry: BiometryType = .touchID, passcode: String? = "1234", fingers: Int = 1, root: TestRoot = TestRoot(),
        random: any RandomSource = KernelRandomness()
    ) throws -> Enclave {
        let file = try Enclave.create(isSimulated: true, biometryType: biometry, root: root, random: random)
        var enclave = try Enclave(stateFile: file, root: root, random: random, now: 0)
        if let passcode { try enclave.changePasscode(from: nil, to: passcode) }
        for number in 0..<fingers { try enclave.enroll("finger \(number + 1)", sample: .finger(number + 1)) }
        return enclave
    }

    /// The same device after a restart.
    func restarted(now: Double = 0) throws -> Enclave {
        try Enclave(stateFile: stateFile(), root: root, random: random, now: now)
    }

    mutating func sealed(_ passcode: String) throws -> SealedPasscode {
        try seal(passcode, to: passcodePublicKey(), nonce: freshNonce())
    }

    @discardableResult
    mutating func changePasscode(from current: String?, to new: String?, now: Double = 0) throws -> Bool {
        let nonce = freshNonce()
        let key = try passcodePublicKey()
        let job = try changePasscode(
            seal(current ?? "", new ?? "", to: key, nonce: nonce, for: .change), now: now)
        let salt = Data(repeating: 7, count: PasscodeDerivation.saltBytes)
        let newKey = try job.new.map {
            try PasscodeDerivation(passcode: $0, salt: salt, cost: .minimum, root: root).run()
        }
        let events = try finishChange(
            ticket: "t", currentKey: job.current?.run(), new: newKey.map { ($0, salt, .minimum) }, now: now)
        return events.last?.outcome == .succeeded
    }

    @discardableResult
    mutating func unlock(_ passcode: String, now: Double = 0) throws -> Bool {
        let entry = try sealed(passcode)
        let job = try unlock(entry, now: now)
        let key = try #require(job.current).run()
        return finishUnlock(ticket: "t", key: key, now: now).last?.outcome == .succeeded
    }

    /// Begins an evaluation on a context, new where none is given.
    mutating func begin(
        _ requirement: Requirement, app: AppIdentifier = "app", context: String? = nil, isFallbackHidden: Bool = false,
        isShown: Bool = true, now: Double = 0
    ) throws -> (evaluation: String, context: String, events: [EnclaveEvent]) {
        let (beginning, events) = beginEvaluation(
            .init(
                context: context, accessGroups: [app], app: app, requirement: requirement,
                isFallbackHidden: isFallbackHidden),
            now: now)
        guard case .begun(let evaluation, let context, _) = beginning else { throw NotBegun(beginning: beginning) }
        // So long ago that the sensor counts.
        if isShown { _ = setShown(true, evaluation, now: now - Limits.touchDelay) }
        return (evaluation, context, events)
    }

    /// Nobody is asked.
    struct NotBegun: Error, Equatable {
        var beginning: Beginning
    }

    /// A context to which the owner has proven what is required, with a finger or the passcode.
    mutating func proven(_ requirement: Requirement, app: AppIdentifier = "app", passcode: String? = nil) throws
        -> String
    {
        let (evaluation, context, _) = try begin(requirement, app: app)
        if let passcode {
            if self.evaluation?.phase == .biometry {
                _ = notMatched(now: 0)
                _ = chooseFallback(now: 0)
            }
            let nonce = try #require(self.evaluation?.nonce)
            let job = try submitPasscode(
                seal(passcode, to: passcodePublicKey(), nonce: nonce, for: .prompt(app: app)), evaluation: evaluation,
                now: 0)
            _ = finishEvaluation(evaluation, key: try #require(job.current).run(), now: 0)
        } else {
            _ = touch(.finger(1), now: 0)
        }
        #expect(self.evaluation == nil)
        return context
    }
}

extension Sample {
    static func finger(_ number: Int) -> Sample { Sample(Data("finger \(number)".utf8)) }
    static let stranger = Sample(Data())
}

// What tests look for in what the enclave tells.

extension EnclaveEvent {
    enum Outcome { case progress, succeeded, failed, erased, unlocked, locked }

    var outcome: Outcome {
        switch self {
        case .environmentChanged, .evaluationProgressed, .logged: .progress
        case .evaluationEnded(_, .succeeded), .answered(_, .done), .answered(_, .keyUsed): .succeeded
        case .evaluationEnded, .answered: .failed
        case .erased: .erased
        case .unlocked: .unlocked
        case .locked: .locked
        }
    }

    var evaluation: String? {
        switch self {
        case .evaluationProgressed(let evaluation, _), .evaluationEnded(let evaluation, _): evaluation
        default: nil
        }
    }

    var ticket: String? { if case .answered(let ticket, _) = self { ticket } else { nil } }
    var progress: Enclave.Progress? { if case .evaluationProgressed(_, let progress) = self { progress } else { nil } }
    var code: AuthenticationFailure? { if case .evaluationEnded(_, .failed(let code, _)) = self { code } else { nil } }
    var refusal: Enclave.RefusalReason? { if case .answered(_, .refused(let reason)) = self { reason } else { nil } }
    var log: [String]? { if case .logged(let lines) = self { lines } else { nil } }
    var retryAfterSeconds: Double? {
        if case .answered(_, .rejected(let seconds)) = self { seconds } else { nil }
    }
}

extension Enclave.Verdict {
    var code: AuthenticationFailure? { if case .refused(let cause) = self { cause.failure } else { nil } }
}

extension Enclave.RewrappedKey {
    var wrappedKey: Data? { if case .wrapped(let key) = self { key } else { nil } }
}

extension KeyUse {
    /// What came of a key that is in memory.
    func get() throws(KeyRefusal) -> Product {
        switch self {
        case .done(let product): return product
        case .refused(let refusal): throw refusal
        case .held: fatalError("no hardware has keys here")
        }
    }
}

/// Whether a key is refused because of what the owner has to prove, of which this is left.
func isNeeded(_ body: () throws -> Void) -> AccessControl? {
    do {
        try body()
        return nil
    } catch {
        return if case .needed(let control, _) = error as? KeyRefusal { control } else { nil }
    }
}

/// Whether a key is refused because what it was bound to is no more.
func isInvalidated(_ body: () throws -> Void) -> Bool {
    do {
        try body()
        return false
    } catch {
        return if case .invalidated = error as? KeyRefusal { true } else { false }
    }
}

/// The status of a refusal; nil for another error, and for none.
func refusal(_ body: () throws -> Void) -> Status? {
    do {
        try body()
        return nil
    } catch {
        return if case .failed(let status, _, _) = error as? KeyRefusal { status } else { nil }
    }
}

// Of an app that says why it wants Face ID.

extension Enclave.EvaluationRequest {
    init(context: String?, app: AppIdentifier, requirement: Requirement, reuseDuration: Double) {
        self.init(
            context: context, app: app, requirement: requirement, reuseDuration: reuseDuration, isFaceIDDescribed: true)
    }
}

extension Enclave.EvaluationStart {
    init(
        context: String?, accessGroups: [AccessGroup] = [], app: AppIdentifier, requirement: Requirement,
        isFallbackHidden: Bool = false, replaces: String? = nil, reuseDuration: Double = 0
    ) {
        self.init(
            context: context, accessGroups: accessGroups, app: app, requirement: requirement,
            isFallbackHidden: isFallbackHidden, isFaceIDDescribed: true, replaces: replaces,
            reuseDuration: reuseDuration)
    }
}
