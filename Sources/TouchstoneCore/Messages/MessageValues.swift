package import Foundation

// Messages, made of what they tell.

extension AuthenticationInterface.Options {
    package init(reason: String) {
        self.init(reason: reason, reuseDuration: 0, interactionNotAllowed: false)
    }
}

extension AuthenticationInterface.GetIdentity.Reply {
    package init(_ app: AppIdentity) {
        self.init(
            app: app.identifier, evidence: app.evidence, hasPinnedDigest: app.hasPinnedDigest,
            keychainAccessGroups: app.keychainAccessGroups, applicationGroups: app.applicationGroups)
    }
}

extension BackupInterface.ExportCounts {
    /// Nothing yet.
    package init() {
        self.init(exported: 0, thisDeviceOnly: 0, excluded: 0, damaged: 0)
    }
}

extension BackupInterface.ImportCounts {
    /// Nothing yet.
    package init() {
        self.init(added: 0, replaced: 0, kept: 0, foreign: 0, damaged: 0)
    }
}

extension BackupInterface.Check.Reply {
    /// Nothing yet.
    package init() {
        self.init(database: [], damaged: [], checked: 0, locked: 0, expired: 0, quarantined: 0, total: 0)
    }
}

extension EnclaveInterface {
    /// What `WatchEvents` tells of later.
    package typealias Ticket = ChangePasscode.Reply
}

extension EnclaveInterface.Preflight.Reply {
    package init(
        verdict: EnclaveInterface.Verdict, code: AuthenticationFailure? = nil, cause: RefusalCause?
    ) {
        self.init(verdict: verdict, code: code, reason: cause?.rawValue)
    }
}

extension EnclaveInterface.WatchEvents.Reply {
    package init(
        evaluation: String? = nil, outcome: EnclaveInterface.Outcome, code: AuthenticationFailure? = nil,
        progress: EnclaveInterface.Progress? = nil, cause: RefusalCause?
    ) {
        self.init(
            evaluation: evaluation, outcome: outcome, code: code, progress: progress, reason: cause?.rawValue)
    }
}

extension EnclaveInterface.Prospect {
    package init(_ availability: InspectorInterface.Availability, obstacle: AuthenticationFailure? = nil) {
        self.init(availability: availability, obstacle: obstacle)
    }
}

extension EnclaveInterface.RewrappedKey {
    package init(_ verdict: EnclaveInterface.BackupVerdict, wrappedKey: Data? = nil) {
        self.init(verdict: verdict, wrappedKey: wrappedKey)
    }
}

extension EnclaveInterface.RefusedCall {
    package init(app: String, cause: RefusalCause, requirement: Requirement?) {
        self.init(app: app, reason: cause.rawValue, requirement: requirement)
    }
}

extension InspectorInterface.Item {
    /// What can be said of every row.
    package init(
        row: Int64, itemClass: String?, protection: Accessibility?, availability: InspectorInterface.Availability
    ) {
        self.init(
            row: row, itemClass: itemClass, protection: protection, isEnclaveKey: false, availability: availability,
            attributeBytes: 0, wrappedKeyBytes: 0)
    }
}

extension KeychainInterface {
    /// A keychain dictionary: the values of Apple's constants as keys (`"class"`, `"acct"`, `"r_Data"`, …).
    package typealias Dictionary = [String: AttributeValue]
}

extension EnclaveInterface.NoteObservation.Parameters {
    package init(
        _ observation: EnclaveInterface.Observation, count: Int? = nil, refused: EnclaveInterface.RefusedCall? = nil
    ) {
        self.init(observation: observation, count: count, refused: refused)
    }
}
