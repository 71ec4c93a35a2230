package import TouchstoneCore

/// What the administrator, or the package that brings an app, says of it: its name, and the access groups that it has besides its own.
///
/// docs/app-manifests.md describes the file.
package struct AppManifest: Hashable, Sendable {
    /// Why a manifest is not used.
    package struct Refused: Error, Hashable, CustomStringConvertible {
        package var description: String
    }

    package enum Limits {
        package static let bytes = 64 << 10
        /// Of any application identifier, with or without a manifest.
        package static let identityBytes = 1024
        package static let groups = 64
        package static let groupBytes = 255
        package static let nameBytes = 128
        package static let descriptionBytes = 1024
        package static let digests = 16
    }

    /// The application identifier that it speaks for: `flatpak:…`, `snap:…`, `unit:…`, or the path of an executable.
    package let identity: AppIdentifier
    /// SHA-256 of the executables that may be the app, lowercase hex; empty where any at the path may.
    package let digests: Set<String>
    package let name: String
    /// Apps of one family, and no others, share groups (KC-43).
    package let family: String?
    package let keychainAccessGroups: [AccessGroup]
    package let applicationGroups: [AccessGroup]
    /// `NSFaceIDUsageDescription`: why the app wants to use Face ID.
    package let faceIDUsageDescription: String?
    /// Whether the app is a bridge: it may say whom it asks for (ND-2).
    package let actsForClients: Bool

    private static let keys: Set<String> = [
        "Identity", "SHA256", "Name", "Family", "keychain-access-groups", "application-groups",
        "NSFaceIDUsageDescription", "ActsForClients",
    ]

    /// - Throws: `Refused`, with the reason.
    package init(_ file: KeyFile) throws(Refused) {
        guard let application = file["Application"] else { throw Refused(description: "it has no [Application]") }
        // A word that we do not know may be a restriction that we would not keep. What begins with X- is nobody's but its writer's.
        if let group = file.groupNames.sorted().first(where: { $0 != "Application" && !$0.hasPrefix("X-") }) {
            throw Refused(description: "[\(group)] is unknown")
        }
        if let key = application.keys.sorted().first(where: { !Self.keys.contains($0) && !$0.hasPrefix("X-") }) {
            throw Refused(description: "\(key) is unknown")
        }
        guard let identity = application["Identity"], Self.isIdentity(identity) else {
            throw Refused(
                description: "Identity is not flatpak:ID, snap:NAME, unit:NAME.service or the path of an executable")
        }
        self.identity = AppIdentifier(identity)
        guard let name = application["Name"], (1...Limits.nameBytes).contains(name.utf8.count) else {
            throw Refused(description: "Name is missing or longer than \(Limits.nameBytes) bytes")
        }
        self.name = name
        digests = try Self.digests(application["SHA256"], of: identity)
        family = application["Family"]
        if let family, !Self.isFamily(family) {
            throw Refused(description: "Family is not 1 to 64 letters, digits or hyphens, or is \"group\"")
        }
        let prefix = family.map { "\($0)." }
        keychainAccessGroups = try Self.groups("keychain-access-groups", in: application) { group in
            prefix.map(group.hasPrefix) ?? false
        }
        applicationGroups = try Self.groups("application-groups", in: application) { group in
            prefix.map { group.hasPrefix($0) || group.hasPrefix("group.") } ?? false
        }
        if let group = Set(keychainAccessGroups).intersection(applicationGroups).min() {
            throw Refused(description: "\(group) is named twice")
        }
        switch application["ActsForClients"] {
        case nil, "false"?: actsForClients = false
        case "true"?: actsForClients = true
        default: throw Refused(description: "ActsForClients is neither true nor false")
        }
        faceIDUsageDescription = application["NSFaceIDUsageDescription"]
        if let faceIDUsageDescription, faceIDUsageDescription.utf8.count > Limits.descriptionBytes {
            throw Refused(
                description: "NSFaceIDUsageDescription is longer than \(Limits.descriptionBytes) bytes")
        }
    }

    private static func groups(
        _ key: String, in application: [String: String], _ isOfFamily: (String) -> Bool
    ) throws(Refused) -> [AccessGroup] {
        guard let value = application[key] else { return [] }
        let groups = list(value)
        guard groups.count <= Limits.groups else {
            throw Refused(description: "\(key) has more than \(Limits.groups) groups")
        }
        for (index, group) in groups.enumerated() {
            guard (1...Limits.groupBytes).contains(group.utf8.count), !group.hasSuffix("."), group.allSatisfy(isWord)
            else {
                throw Refused(description: "\(key): \"\(group)\" is not the name of a group")
            }
            guard isOfFamily(group) else {
                throw Refused(description: "\(key): \(group) is not of the app's family")
            }
            guard !groups[..<index].contains(group) else {
                throw Refused(description: "\(group) is named twice")
            }
        }
        return groups.map { AccessGroup($0) }
    }

    private static func digests(_ value: String?, of identity: String) throws(Refused) -> Set<String> {
        guard let value else { return [] }
        let digests = list(value)
        guard identity.hasPrefix("/") else {
            throw Refused(description: "SHA256 is only for the path of an executable")
        }
        guard (1...Limits.digests).contains(digests.count),
            digests.allSatisfy({ $0.utf8.count == 64 && $0.utf8.allSatisfy(isLowercaseHex) })
        else {
            throw Refused(
                description: "SHA256 is not 1 to \(Limits.digests) digests of 64 lowercase hexadecimal digits")
        }
        return Set(digests)
    }

    /// Values end with, or are parted by, semicolons.
    private static func list(_ value: String) -> [String] {
        var values = value.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        if values.last == "" { values.removeLast() }
        return values
    }

    /// The identity of the template of which a unit is an instance: `unit:NAME@.service` of `unit:NAME@1000.service`; nil: of none (ND-9).
    static func template(of identity: AppIdentifier) -> AppIdentifier? {
        let identity = identity.rawValue
        guard identity.hasPrefix("unit:"), identity.hasSuffix(".service"), let at = identity.firstIndex(of: "@") else {
            return nil
        }
        let template = "\(identity[...at]).service"
        return template == identity ? nil : AppIdentifier(template)
    }

    private static func isIdentity(_ identity: String) -> Bool {
        guard identity.utf8.count <= Limits.identityBytes else { return false }
        if identity.hasPrefix("/") {
            return identity.dropFirst().split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0 != "." && $0 != ".."
            }
        }
        guard let colon = identity.firstIndex(of: ":") else { return false }
        let name = identity[identity.index(after: colon)...]
        switch identity[..<colon] {
        case "flatpak", "snap": return !name.isEmpty && name.allSatisfy { isWord($0) }
        case "unit":
            return name.count > ".service".count && name.hasSuffix(".service")
                && name.allSatisfy { isWord($0) || "@:\\".contains($0) }
        default: return false
        }
    }

    /// No dot in it, so that no family's groups begin with the name of another.
    private static func isFamily(_ family: String) -> Bool {
        (1...64).contains(family.utf8.count) && family != "group"
            && family.allSatisfy { isWord($0) && $0 != "." && $0 != "_" }
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
    }

    private static func isLowercaseHex(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
    }
}
