/// What a device knows of the processes of an executable, and which file says each part.
///
/// It is for the developer of the program.
package struct AppDescription: Codable, Hashable, Sendable {
    package enum Origin: String, Codable, Sendable {
        /// The executable's own path.
        case executable
        /// The app's identifier: the name of the group that nobody else has.
        case identifier
        /// The app's manifest.
        case manifest
        /// An `Info.plist` that belongs to the executable.
        case infoPropertyList
    }

    package struct Part: Codable, Hashable, Sendable {
        package var value: String
        package var origin: Origin
        /// The path of the manifest, or of the property list.
        package var file: String?

        package init(_ value: String, _ origin: Origin, file: String? = nil) {
            self.value = value
            self.origin = origin
            self.file = file
        }
    }

    package var identifier: String
    /// What a prompt calls the app.
    package var name: Part
    /// Every access group of the app's, in order; the first is the default (KC-40, KC-41).
    package var accessGroups: [Part]
    /// `NSFaceIDUsageDescription`; nil: the app does not say what it wants Face ID for (CE-11).
    package var faceIDUsageDescription: Part?
    /// Whether its manifest says that it asks for other programs (ND-2); absent: it asks for itself.
    package var actsForClients: Bool?
    /// SHA-256 of the executable, lowercase hex, where it could be read.
    package var executableDigest: String?
    /// A manifest for this path that names other digests, and so speaks of another app.
    package var otherManifest: String?
    /// Why no process of it is served; nil: it is.
    package var refusal: String?
    /// Manifests and directories that are not used, each a sentence.
    package var unusedManifests: [String] = []

    package init(identifier: String, name: Part, accessGroups: [Part]) {
        self.identifier = identifier
        self.name = name
        self.accessGroups = accessGroups
    }
}
