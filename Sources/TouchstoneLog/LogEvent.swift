/// What an entry of the log tells of.
///
/// Raw values and message identifiers are part of the log's format: a new event gets new ones, and none is ever used again.
package enum LogEvent: String, CaseIterable, Codable, Sendable {
    /// The device booted; result: how the log was found (see below).
    case deviceStarted = "device-started"
    /// The device was shut down or rebooted, in order.
    case deviceStopped = "device-stopped"
    /// A prompt was put up for an app.
    case evaluationBegan = "evaluation-began"
    /// An evaluation ended.
    case evaluationEnded = "evaluation-ended"
    /// The secret of an item whose access control wants the owner was opened, or was not.
    case itemOpened = "item-opened"
    /// An app made a private key.
    case keyCreated = "key-created"
    /// A private key was used.
    case keyUsed = "key-used"
    /// A call was refused before anybody was asked, or for what it wanted; result: the cause.
    case callRefused = "call-refused"
    /// A finger or face that is not enrolled.
    case biometryRejected = "biometry-rejected"
    /// No finger or face helps until the passcode.
    case biometryLockedOut = "biometry-locked-out"
    /// A passcode that was wrong, or was not looked at.
    case passcodeRejected = "passcode-rejected"
    /// The first passcode.
    case passcodeSet = "passcode-set"
    /// Another passcode.
    case passcodeChanged = "passcode-changed"
    /// No passcode any more.
    case passcodeRemoved = "passcode-removed"
    /// Whether wrong passcodes erase the device was changed.
    case eraseDataChanged = "erase-data-changed"
    /// The device was locked.
    case locked = "locked"
    /// The device was unlocked.
    case unlocked = "unlocked"
    /// A finger or face was enrolled.
    case biometryEnrolled = "biometry-enrolled"
    /// A finger or face was removed.
    case biometryRemoved = "biometry-removed"
    /// The owner answered an app's question whether it may use Face ID.
    case permissionDecided = "permission-decided"
    /// The device's keys were destroyed.
    case erased = "erased"
    /// The owner agreed to an export or import.
    case backupAuthorized = "backup-authorized"
    /// Keys of items were wrapped for a backup.
    case backupExported = "backup-exported"
    /// The owner accepted the keychain's items with an access control as they are, after these were altered.
    case itemsAccepted = "items-accepted"
    /// The owner changed the circle of devices, or this one's place in it; asked: how.
    case circleChanged = "circle-changed"
    /// Keys of items came from a backup.
    case backupImported = "backup-imported"
    /// A program that shows prompts connected.
    case agentConnected = "agent-connected"
    /// It went.
    case agentLost = "agent-lost"
    /// Entries could not be written and are lost; count: how many.
    case logInterrupted = "log-interrupted"
    /// More repeatable entries in one second than are written; count: how many.
    case others = "others"

    /// `MESSAGE_ID` in the journal: 128 bits in hex, the same in every version.
    package var messageID: String { Self.messageIDs[self] ?? "" }

    private static let messageIDs: [LogEvent: String] = [
        .deviceStarted: "d89c29d008fe454c996ab01b4cd33f34",
        .deviceStopped: "25d03949084f4a72b89e9dbbbc092a18",
        .evaluationBegan: "53dc2d5e787a4aa5a5ae06becd7bc95f",
        .evaluationEnded: "561ccab0fa60463d84c83909c9613e7e",
        .itemOpened: "dce5e9b453144bbe889d330d91987cb5",
        .keyCreated: "36a7983d3a454a3aa88c9194bb162267",
        .keyUsed: "c905966caccf48cab82af3340090cdba",
        .callRefused: "dd40cd31a0071765be02961388a079cd",
        .biometryRejected: "745f8dc2138b43f9b89625634d5d48f8",
        .biometryLockedOut: "1cadee0a479f48598373994d4fe63dd2",
        .passcodeRejected: "4f50ebc2057d44bd92b1d429c0c95957",
        .passcodeSet: "4fea008c90dc439a8444ac2dc259103a",
        .passcodeChanged: "7a8709358bc74253b0401bd7b93852d5",
        .passcodeRemoved: "9bf26c43e21f4cdd975b3a9d2a3a7175",
        .eraseDataChanged: "811bdbe3aa024cf6bc750891bdd8dd01",
        .locked: "eb7eb8f948de4a16bfcc402bda9b3910",
        .unlocked: "99841e13234c4567b1f3c4b621dd88c2",
        .biometryEnrolled: "395eaec464b04e36943a949cd7096bf2",
        .biometryRemoved: "264a91199f6c4e40ba45588da54a73d4",
        .permissionDecided: "d5cdb74af127402988f2bb4cbb2863f5",
        .erased: "3c140fe944df4abca70cf346b41e9608",
        .backupAuthorized: "d49662175b93469dbeadf11b624a8a73",
        .backupExported: "6be7c418918a4fc6936654e939d3a149",
        .backupImported: "c1f2aa22913a4d2f837c07c69114ace6",
        .itemsAccepted: "a1c9f30b5e7d4c06b2f84d9e6173ac58",
        .circleChanged: "5d0c2a7e91f84b3c8a6f1e47b29d0c53",
        .agentConnected: "7e579a4c6e8140a29fbd79fefaf004ea",
        .agentLost: "33993826eb004394a3ae686a1507a6d2",
        .logInterrupted: "3dca85a118fb4173929b6608cd828270",
        .others: "31061ad146614a68852b4c7b6b593a14",
    ]
}
