/// Protection class (when) and constraint (who proves what) of an item: what a `SecAccessControl` holds.
package struct AccessControl: Hashable, Sendable {
    package var protection: Accessibility
    package var flags: Flags

    /// Apple's `SecAccessControlCreateFlags` bits (section 6.1 of the rules).
    package struct Flags: OptionSet, MessageCodable, Hashable {
        package let rawValue: UInt64
        package init(rawValue: UInt64) { self.rawValue = rawValue }

        package static let userPresence = Flags(rawValue: 1 << 0)
        package static let biometryAny = Flags(rawValue: 1 << 1)
        package static let biometryCurrentSet = Flags(rawValue: 1 << 3)
        package static let devicePasscode = Flags(rawValue: 1 << 4)
        package static let companion = Flags(rawValue: 1 << 5)
        package static let or = Flags(rawValue: 1 << 14)
        package static let and = Flags(rawValue: 1 << 15)
        package static let privateKeyUsage = Flags(rawValue: 1 << 30)
        package static let applicationPassword = Flags(rawValue: 1 << 31)

        static let constraints: Flags = [.userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion]
    }

    /// - Throws: `.param` for a combination that AC-02 forbids.
    package init(protection: Accessibility, flags: Flags) throws(Status) {
        if flags.isSuperset(of: [.or, .and]) { throw .param }
        if flags.isSuperset(of: [.biometryAny, .biometryCurrentSet]) { throw .param }
        if flags.contains(.userPresence),
            !flags.subtracting([.userPresence, .applicationPassword, .privateKeyUsage]).isEmpty
        {
            throw .param
        }
        self.protection = protection
        self.flags = flags
    }

    /// Whether opening the item asks for a proof at all (AC-05, AC-11).
    package var isConstrained: Bool {
        !flags.isDisjoint(with: .constraints) || flags.contains(.applicationPassword)
    }

    /// Whether the control has an entry for an operation, or has no entries at all (AC-05, AC-20).
    ///
    /// An application password is no entry: it is wanted in addition (AC-04).
    package func grants(_ operation: AccessControlOperation) -> Bool {
        switch operation {
        case .createItem, .createKey: true
        case .useItem: !flags.contains(.privateKeyUsage)
        case .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
            flags.contains(.privateKeyUsage) || requirement.proofs.isEmpty
        }
    }

    /// What reading an item asks for: the decrypt operation of AC-20.
    ///
    /// Key operations come with keys.
    package var requirement: Requirement { Requirement(flags) }
}

/// A proof that the enclave can ask of the owner.
package enum Proof: String, CaseIterable, Sendable {
    /// Biometry if it is ready, else the passcode.
    case presence
    case biometryAny
    case biometryCurrentSet
    case passcode
    case companion

    /// Whether a finger or a face gives it.
    package var isMetByBiometry: Bool {
        switch self {
        case .presence, .biometryAny, .biometryCurrentSet: true
        case .passcode, .companion: false
        }
    }
}

/// Proofs of which all, or any one, must be given (AC-03).
package struct Requirement: Hashable, Sendable {
    package var proofs: [Proof]
    package var anyOne: Bool

    package init(proofs: [Proof], anyOne: Bool = false) {
        self.proofs = proofs
        self.anyOne = anyOne
    }

    /// Whether nothing can give what is asked for any more once the enrolled set has changed (AC-50).
    package var endsWithTheEnrolment: Bool {
        guard proofs.contains(.biometryCurrentSet) else { return false }
        return !anyOne || proofs.allSatisfy { [.biometryCurrentSet, .companion].contains($0) }
    }

    /// Whether the passcode alone can give what is asked for.
    package var isMetByPasscode: Bool {
        let isGiven = { (proof: Proof) in proof == .presence || proof == .passcode }
        return anyOne ? proofs.contains(where: isGiven) : !proofs.isEmpty && proofs.allSatisfy(isGiven)
    }

    init(_ flags: AccessControl.Flags) {
        let order: [(AccessControl.Flags, Proof)] = [
            (.userPresence, .presence), (.devicePasscode, .passcode), (.biometryAny, .biometryAny),
            (.biometryCurrentSet, .biometryCurrentSet), (.companion, .companion),
        ]
        self.init(proofs: order.filter { flags.contains($0.0) }.map(\.1), anyOne: flags.contains(.or))
    }

    /// What a policy asks for; nil for one that Linux does not have.
    package init?(_ policy: Policy) {
        switch policy {
        case .deviceOwnerAuthenticationWithBiometrics: self.init(proofs: [.biometryAny])
        case .deviceOwnerAuthentication: self.init(proofs: [.presence])
        case .deviceOwnerAuthenticationWithCompanion: self.init(proofs: [.companion])
        case .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            self.init(proofs: [.biometryAny, .companion], anyOne: true)
        case .deviceOwnerAuthenticationWithWristDetection: return nil
        }
    }
}
