import Crypto
package import Foundation
package import TouchstoneCore
import TouchstoneMemory

/// What a simulated device's owner may look at: where keys are, and what could be opened. Nothing of a key leaves.
extension Enclave {
    package func classKeyStates() -> [Accessibility: ClassKeyState] {
        var states: [Accessibility: ClassKeyState] = [:]
        for protection in Accessibility.allCases {
            states[protection] =
                if keys[protection] != nil {
                    .open
                } else if screenLock.held[protection] != nil {
                    .heldForBiometry
                } else if isPasscodeSet {
                    .sealed
                } else {
                    .absent
                }
        }
        return states
    }

    package func prospect(of item: WrappedItem, now: Double) -> Prospect {
        switch unwrapped(item) {
        case .closed(let protection): return closed(protection)
        case .gone: return .init(.damaged)
        case .open(var unwrapped):
            defer { unwrapped.wipe() }
            return remaining(unwrapped.control, boundTo: unwrapped.enrolment).map { prospect(of: $0, now: now) }
                ?? .init(.enrolmentChanged)
        }
    }

    package func prospect(ofPrivateKey key: Data, now: Double) -> Prospect {
        guard let blob = PrivateKeyBlob(key, key: blobKey.symmetricKey) else { return .init(.damaged) }
        guard let control = remaining(blob.control, boundTo: blob.enrolment) else { return .init(.enrolmentChanged) }
        guard keys[blob.control.protection] != nil else { return closed(blob.control.protection) }
        guard let classKey = classKey(of: blob.control.protection, generation: blob.generation),
            let box = try? AES.GCM.SealedBox(combined: blob.sealedKey),
            var plain = try? AES.GCM.open(box, using: classKey, authenticating: blob.description)
        else {
            // This device made it, so its class key was destroyed since.
            return .init(.passcodeRemoved)
        }
        plain.resetBytes(in: 0..<plain.count)
        // As at its use: a control of constraints that are not meant for private keys is met by nobody (AC-20, SE-13).
        guard blob.control.grants(.useKeySign) else {
            return .init(.authenticationNeeded, obstacle: .authenticationFailed)
        }
        return prospect(of: control, now: now)
    }

    /// Of what is of a class whose key is not open.
    private func closed(_ protection: Accessibility) -> Prospect {
        guard isPasscodeSet else { return .init(.passcodeRemoved) }
        return .init(screenLock.wasUnlockedSinceBoot ? .locked : .notUnlockedSinceBoot)
    }

    /// Of what is of a class whose key is open.
    private func prospect(of control: AccessControl, now: Double) -> Prospect {
        guard control.isConstrained else { return .init(.available) }
        return .init(.authenticationNeeded, obstacle: obstacleNow(to: control.requirement, now: now))
    }

    /// What an evaluation that begins now would end with before anybody could meet it.
    private func obstacleNow(to requirement: Requirement, now: Double) -> AuthenticationFailure? {
        let biometry = biometryRefusal(now: now)
        if let cause = refusal(of: requirement, biometry: biometry) { return cause.failure }
        guard !requirement.proofs.isEmpty else { return nil }
        // Behind the lock screen nothing is in the foreground (EV-05).
        if isLocked { return .notInteractive }
        guard isPasscodeDisabled else { return nil }
        let isMet = requirement.proofs.map { proof in
            proof != .passcode && biometry == nil && biometryMeets(proof)
        }
        return (requirement.anyOne ? isMet.contains(true) : !isMet.contains(false)) ? nil : .authenticationFailed
    }
}
