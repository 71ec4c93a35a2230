import Crypto
package import Foundation
import TouchstoneCircle
package import TouchstoneCore
package import TouchstoneLog
package import TouchstoneMemory

/// Everything the enclave knows and decides: who is enrolled, what was proven, which class keys are there.
///
/// A plain value. Time comes in with each call; what must reach the disk or a waiting caller comes out. ``EnclaveHost`` does the rest.
///
/// > Source: sections A.1, A.3, 2, 4, 5 and 6 of the rules.
package struct Enclave {
    package enum Limits {
        /// Of one app: a noisy app ends its own contexts, never another's.
        static let contextsPerApp = 256
        /// Of all apps together.
        static let contexts = 4096
        static let fingers: [BiometryType: Int] = [.touchID: 5, .faceID: 2, .opticID: 2]
        static let fingerNameBytes = 64
        /// Of a path: what Linux takes, with the zero byte behind it.
        static let pathBytes = 4096
        static let minimumPasscodeBytes = 4
        /// Non-matches in a row before only the passcode helps (EV-26).
        static let biometryFailures = 5
        /// Seconds from the moment in which a prompt is before the owner until the sensor counts for it.
        package static let touchDelay = 0.5
        /// Seconds for which a proof may be asked to be good (ND-4).
        static let validFor = 0.0...300.0
        /// Apps for which the owner's answer about Face ID is kept.
        static let faceIDPermissions = 128
        /// Of an application identifier.
        static let appBytes = 1024
        /// Application passwords that wait to be stretched, of all apps and of one.
        static let credentialJobs = 256
        static let credentialJobsPerApp = 4
        /// Times that class keys are made anew: from then on a new passcode seals those that are there.
        static let generations: UInt32 = 256
        /// Numbers of this device's in other devices' digits, until the passcode was given again: six digits are soon searched through.
        static let joinNumbers = 5
        /// Apps whose wrong application passwords are counted.
        static let guessingApps = 256
    }

    // Kept across boots.
    var state: EnclaveState
    package let root: any RootOfTrust
    let random: any RandomSource
    let deviceKey: SecretBytes
    /// Of private keys' blobs; derived once, as every use of a key wants it.
    let blobKey: SecretBytes
    let itemTags: ItemTags
    let policy: PasscodePolicy

    // Gone with the process.
    /// What passcodes are sealed to, made at each boot: who has the device later reads no entry that was recorded before (DEC-005).
    var passcodeKey: SecretBytes
    var keys = ClassKeys() { didSet { keysEpoch = openedPrivateKeys.removeAll() } }
    /// Which class keys there are: another whenever one came or went.
    private(set) var keysEpoch: UInt64 = 0
    let openedPrivateKeys = OpenedPrivateKeys()
    var screenLock: ScreenLock
    var passcodeGuesses = PasscodeGuesses()
    var contexts = Contexts()
    var evaluation: Evaluation?
    var applicationPasswords = ApplicationPasswords()
    var sensor: SensorState
    /// One at a time; ends with the lock.
    var backup: BackupSession?
    /// The circle as it was opened last; whether it still is the state's is looked at each time.
    let openedCircle = OpenedCircle()
    /// This device asks to join a circle.
    var applicant: CircleApplicant?
    /// What was answered last to a device that asks to join this one's circle.
    var openChallenge: JoinChallenge?
    var guardedItems = GuardedItems()
    /// Those given out and not yet used.
    var nonces = Nonces()
    /// As it was when it was last looked at.
    private var environment: Environment?
    package var log: LogChain

    /// Boots from the kept state.
    ///
    /// `touchDelay` is how many seconds after a prompt is shown the sensor counts for it.
    ///
    /// - Throws: `EnclaveStateError`, after which nothing has changed.
    package init(
        stateFile: Data?, root: any RootOfTrust, random: any RandomSource, now: Double,
        policy: PasscodePolicy = PasscodePolicy(),
        touchDelay: Double = Limits.touchDelay
    ) throws {
        guard let stateFile else { throw EnclaveStateError.missing }
        let deviceKey = try root.derive("device key", Data())
        let state = try EnclaveStateFile.decode(stateFile, key: deviceKey.derive("state"))
        try self.init(
            state: state, deviceKey: deviceKey, root: root, random: random, now: now, policy: policy,
            touchDelay: touchDelay)
    }

    init(
        state: EnclaveState, deviceKey: SecretBytes, root: any RootOfTrust, random: any RandomSource, now: Double,
        policy: PasscodePolicy,
        touchDelay: Double
    ) throws {
        self.state = state
        self.root = root
        self.random = random
        self.deviceKey = deviceKey
        self.policy = policy
        blobKey = deviceKey.derive("private keys")
        itemTags = ItemTags(deviceKey.derive("recorded items"))
        guard let keys = ClassKeys(state.classKeys, under: deviceKey.derive("class keys")) else {
            throw EnclaveStateError.corrupt
        }
        self.keys = keys
        sensor = SensorState(of: state, touchDelay: touchDelay)
        passcodeKey = random.secret(count: 32)
        log = LogChain(deviceKey: deviceKey, boot: random.bytes(count: 8), kept: state.log)
        screenLock = ScreenLock(isPasscodeSet: state.passcode != nil)
        // The full delay starts again at boot, so that a restart or a changed clock never shortens it (PC-03).
        delayNextPasscode(now: now)
        environment = environment(now: now)
    }

    /// The first state of a new device, as the bytes of its file.
    ///
    /// With a `sensor` its fingers are not simulated, whatever else of it is.
    ///
    /// `revision` is where its counter begins, nil: at nothing; `recoveryKey`, 32 bytes, X25519, is what the secrets of its passcodes
    /// are sealed to. With `areKeysHeld` the root's hardware makes its P-256 keys.
    package static func create(
        isSimulated: Bool, biometryType: BiometryType, sensor: SensorSource? = nil, root: any RootOfTrust,
        random: any RandomSource,
        revision: UInt64? = nil, recoveryKey: Data? = nil, areKeysHeld: Bool = false
    ) throws -> Data {
        let deviceKey = try root.derive("device key", Data())
        var state = try EnclaveState.fresh(
            isSimulated: isSimulated, biometryType: biometryType, sensor: sensor, deviceKey: deviceKey, random)
        state.revision = revision
        state.recoveryKey = recoveryKey
        state.areKeysHeld = areKeysHeld ? true : nil
        return try EnclaveStateFile.encode(state, key: deviceKey.derive("state"))
    }

    package func stateFile() throws -> Data {
        try EnclaveStateFile.encode(state, key: deviceKey.derive("state"))
    }

    package var isLocked: Bool { screenLock.isLocked }

    package func facts(app: AppIdentifier, now: Double) -> Facts {
        Facts(
            isSimulated: state.isSimulated, rootOfTrust: root.kind, biometryType: state.biometryType,
            isEnrolled: isEnrolled, isPasscodeSet: isPasscodeSet, passcodeKind: passcodeKind, erasesData: erasesData,
            wasErased: state.erasure != nil && !isPasscodeSet, isLocked: isLocked,
            wasUnlockedSinceBoot: screenLock.wasUnlockedSinceBoot, isBiometryLockedOut: isBiometryLockedOut(now: now),
            passcodeFailures: state.passcodeFailures, passcodeRetryAfterSeconds: passcodeRetryAfter(now: now),
            isPasscodeDisabled: isPasscodeDisabled, domainState: domainState(app: app), sensor: sensor.status,
            areKeysInTPM: state.areKeysHeld)
    }

    /// What apps may know of the device (CE-19), to see when it changes.
    private struct Environment: Equatable {
        var enrolment: Data
        var biometryObstacle: AuthenticationFailure?
        var isBiometryLockedOut: Bool
        var isPasscodeSet: Bool
        var faceIDPermissions: [EnclaveState.FaceIDPermission]?
    }

    private func environment(now: Double) -> Environment {
        Environment(
            enrolment: state.database.hash, biometryObstacle: biometryObstacle(now: now),
            isBiometryLockedOut: isBiometryLockedOut(now: now), isPasscodeSet: isPasscodeSet,
            faceIDPermissions: state.faceIDPermissions)
    }

    /// The event that tells of a change of the environment since this was last asked, if there was one.
    package mutating func environmentEvents(now: Double) -> [EnclaveEvent] {
        let current = environment(now: now)
        defer { environment = current }
        return current == environment ? [] : [.environmentChanged]
    }

    /// The enclave's public key for passcodes, of this boot: 32 bytes, X25519.
    package func passcodePublicKey() throws -> Data {
        try passcodePrivateKey().publicKey.rawRepresentation
    }

    func passcodePrivateKey() throws -> Curve25519.KeyAgreement.PrivateKey {
        unsafe try passcodeKey.withUnsafeBytes {
            unsafe try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0)
        }
    }

    // MARK: contexts

    package mutating func createContext(
        app: AppIdentifier, accessGroups: [AccessGroup], client: AppIdentifier? = nil
    ) -> String {
        let identifier = random.identifier()
        add(Context(app: app, accessGroups: accessGroups, client: client), as: identifier)
        return identifier
    }

    mutating func add(_ context: Context, as identifier: String) {
        contexts.add(context, as: identifier, evaluated: evaluation?.context)
    }

    /// - Returns: The evaluation that ended with it, if one ran.
    package mutating func invalidateContext(_ identifier: String) -> [EnclaveEvent] {
        contexts.remove(identifier)
        guard evaluation?.context == identifier else { return [] }
        return endEvaluation(.refused(.cancelledByApp))
    }

    /// Forgets what was proven to every context (EV-33).
    mutating func forgetProofs() {
        contexts.forgetProofs()
        evaluation?.proven = Proven()
    }

    /// Forgets what was proven for a time that is over (ND-4): to be called before anything is decided by it.
    package mutating func forgetLapsedProofs(now: Double) { contexts.forgetLapsedProofs(now: now) }
}

extension SecretBytes {
    /// The secret in ordinary memory, which is neither locked nor zeroed: for a blob, for a message, for another's API.
    ///
    /// Whoever takes it wipes it, or hands it over.
    package var unprotectedCopy: Data { unsafe withUnsafeBytes { unsafe Data($0) } }
}
