package import TouchstoneCore

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
    /// A keychain dictionary: what `SecItem…` takes and returns.
    package typealias Dictionary = [AttributeKey: AttributeValue]
}
