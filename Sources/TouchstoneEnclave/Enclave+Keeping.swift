package import Foundation
package import TouchstoneCore
import TouchstoneLog

/// What the host needs to keep the state, and to answer what is no decision.
extension Enclave {
    package var isSimulated: Bool { state.isSimulated }
    package var biometryType: BiometryType { state.biometryType }
    /// The sensor that the device was created with; nil: its fingers are simulated.
    package var sensorSource: SensorSource? { state.sensor }
    /// Whether its fingers are simulated.
    package var hasSimulatedSensor: Bool { sensor.status?.kind == .simulated }
    /// Whether P-256 keys are made in the root of trust's hardware.
    package var areKeysHeld: Bool { state.areKeysHeld == true }
    /// The names of what is enrolled.
    package var fingers: [String] { state.templates.map(\.name) }
    /// Which apps may use Face ID, the oldest answer first.
    package var faceIDPermissions: [(app: AppIdentifier, isAllowed: Bool)] {
        (state.faceIDPermissions ?? []).map { ($0.app, $0.isAllowed) }
    }

    /// For whom this app made that context (ND-1); nil: for itself, or the context is not its own.
    package func client(of context: String?, made app: AppIdentifier) -> AppIdentifier? {
        contexts[context ?? ""].flatMap { $0.app == app ? $0.client : nil }
    }

    /// Whether what a finger proved to this context counts for something.
    package func hasProvenBiometry(_ context: String) -> Bool { contexts[context]?.proven.biometry != nil }

    /// The evaluation that runs, if it is this one and in this phase; nil: in any.
    package func isEvaluating(_ identifier: String, in phase: Phase? = nil) -> Bool {
        evaluation?.identifier == identifier && (phase == nil || evaluation?.phase == phase)
    }

    /// The owner answered in an evaluation whether its app may use Face ID.
    package mutating func answerPermission(_ isAllowed: Bool, now: Double) throws(Refused) -> [EnclaveEvent] {
        guard let context = evaluation?.context, let app = contexts[context]?.app else { return [] }
        return try setFaceIDPermission(isAllowed, of: app, now: now)
    }

    /// A connection to touchstoned has ended: its nonces are worth nothing any more.
    package mutating func endConnection(_ connection: Int) { nonces.removeAll(of: connection) }

    // MARK: the state

    /// One more with each write (PC-34).
    package var revision: UInt64 { state.revision ?? 0 }
    /// What the passcode's gate is closed with; nil where there is none.
    package var closedGate: Data? { state.passcode?.gate?.closed }
    /// What secrets of new passcodes are sealed to.
    package var recoveryKey: Data? { state.recoveryKey }

    /// Whether there is nothing to write.
    package func isKept(as other: Enclave) -> Bool { state == other.state }

    /// Makes the state ready to be written: with where the log ends, as this revision.
    package mutating func prepare(revision: UInt64) {
        state.log = log.toKeep
        state.revision = revision
    }

    /// A write failed, and the file may be the new one all the same: the next has another number.
    package mutating func skipRevision() { state.revision = revision + 1 }
}
