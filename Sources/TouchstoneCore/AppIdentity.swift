/// Who the app at the other end of a connection is, and how we know.
///
/// Linux has no code signature to ask, so an identity is a label of a certain strength and never more: the evidence travels with it.
package struct AppIdentity: Hashable, Sendable {
    /// The strongest evidence that was found, in the order in which it is looked for.
    package enum Evidence: String, CaseIterable, Codable, Sendable {
        /// `/.flatpak-info` in the root of the sandbox, which the sandboxed app cannot write.
        case flatpak
        /// The control group that snapd made, and the confinement that goes with it.
        case snap
        /// The systemd service whose control group the peer is in.
        case systemdUnit
        /// The file that the peer executes. Whoever may replace the file may be the app.
        case executable
        /// The test process itself (`TouchstoneTesting`).
        case process
    }

    /// Application identifier, and name of the app's private access group.
    ///
    /// For example `flatpak:org.example.App` or `/usr/bin/example`.
    package var identifier: AppIdentifier
    package var evidence: Evidence
    /// What the prompt shows as the app's name: the manifest's, else the last part of the identifier.
    package var name: String
    package var processID: Int32
    package var userID: UInt32
    /// SHA-256 of the executable, lowercase hex, where it could be read.
    ///
    /// It takes its time, so that it is there only where a manifest names digests, and for whoever is told of the app (DEC-295).
    package var executableDigest: String?
    /// Every access group that is the app's, in order; the first is the default (KC-40, KC-41).
    ///
    /// Stays in the daemon, which tells it only to the app itself.
    package private(set) var accessGroups: [AccessGroup] = []
    /// Those of the manifest that stand before the app's own group.
    package private(set) var keychainAccessGroups: [AccessGroup] = []
    /// Those of the manifest that stand behind it.
    package private(set) var applicationGroups: [AccessGroup] = []
    /// Whether the manifest names the digest of the executable; nil where there is no manifest, or it names none.
    ///
    /// Stays in the daemon as well.
    package private(set) var hasPinnedDigest: Bool?

    /// `NSFaceIDUsageDescription`: what the app says it wants Face ID for, never empty; nil where it does not say (CE-11).
    ///
    /// Stays in the daemon: an agent is shown it in the prompt that asks.
    package private(set) var faceIDUsageDescription: String?

    /// Whether the manifest lets the app name whom it asks for (ND-2).
    ///
    /// Stays in the daemon as well.
    package private(set) var actsForClients = false

    /// `keychainAccessGroups` stand before the app's own group, so that the first is then the default; `applicationGroups` stand behind it.
    package init(
        identifier: AppIdentifier, evidence: Evidence, name: String, processID: Int32, userID: UInt32,
        executableDigest: String? = nil, hasPinnedDigest: Bool? = nil, keychainAccessGroups: [AccessGroup] = [],
        applicationGroups: [AccessGroup] = [], faceIDUsageDescription: String? = nil, actsForClients: Bool = false
    ) {
        self.identifier = identifier
        self.evidence = evidence
        self.name = name
        self.processID = processID
        self.userID = userID
        self.executableDigest = executableDigest
        self.faceIDUsageDescription = faceIDUsageDescription?.isEmpty == true ? nil : faceIDUsageDescription
        self.hasPinnedDigest = hasPinnedDigest
        self.actsForClients = actsForClients
        self.keychainAccessGroups = keychainAccessGroups
        self.applicationGroups = applicationGroups
        accessGroups = keychainAccessGroups + [identifier] + applicationGroups
    }
}
