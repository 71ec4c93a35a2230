package import Foundation
import Glibc
import Synchronization
package import TouchstoneCore
package import TouchstoneTransport

/// The manifests of a device's apps, read anew when a file or a directory has changed.
package final class AppManifests: Sendable {
    package struct Directory: Sendable {
        let path: String
        /// Whose files it may hold, besides root's.
        let owner: UInt32

        package init(path: String, owner: UInt32 = 0) {
            self.path = path
            self.owner = owner
        }
    }

    /// The administrator's, which win, and those of packages.
    package static let system = [
        Directory(path: "/etc/touchstone/apps.d"), Directory(path: "/usr/share/touchstone/apps"),
    ]

    /// Those of a simulated device: its own directory wins over the system's.
    ///
    /// What lies in it may be its owner's: whoever can write there can as well replace the device's daemon and its files, so that a
    /// manifest gives nobody what he has not.
    package static func simulated(state: URL, owner: UInt32) -> [Directory] {
        [Directory(path: state.appendingPathComponent("apps.d").path, owner: owner)] + system
    }

    private struct State {
        var versions: [String: OwnedDirectory.Version]?
        var manifests: [AppIdentifier: Found] = [:]
    }

    private enum Limits {
        static let files = 4096
    }

    private let directories: [Directory]
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directories: Where manifests lie. A file in one hides those of the same name in the ones behind it, used or refused.
    ///   - report: Is told of every file and directory that is refused, when it is read.
    package init(_ directories: [Directory], report: @escaping @Sendable (String) -> Void) {
        self.directories = directories
        self.report = report
    }

    /// A manifest, and the path of its file.
    struct Found {
        var file: String
        var manifest: AppManifest
    }

    /// The manifest that speaks for an application identifier, as the files are now.
    ///
    /// - Throws: `Shortage`. What was read before stays.
    package func manifest(for identity: AppIdentifier) throws(Shortage) -> AppManifest? {
        try found(for: identity)?.manifest
    }

    /// Whether any manifest says which digest an executable has to have, as the files are now.
    ///
    /// - Throws: `Shortage`.
    func nameDigests() throws(Shortage) -> Bool {
        try state.withLock { state throws(Shortage) in
            try refresh(&state)
            return state.manifests.values.contains { !$0.manifest.digests.isEmpty }
        }
    }

    /// The same as `manifest(for:)` with its file.
    func found(for identity: AppIdentifier) throws(Shortage) -> Found? {
        try state.withLock { state throws(Shortage) in
            try refresh(&state)
            // One for the instance itself wins.
            return state.manifests[identity] ?? AppManifest.template(of: identity).flatMap { state.manifests[$0] }
        }
    }

    private func refresh(_ state: inout State) throws(Shortage) {
        let found = try directories.map { directory throws(Shortage) in
            (directory: directory, names: try OwnedDirectory.names(in: directory.path))
        }
        let versions = Self.versions(found)
        guard versions != state.versions else { return }
        state.manifests = try load(found)
        state.versions = versions
    }

    private static func versions(_ found: [(directory: Directory, names: [String])]) -> [String: OwnedDirectory.Version]
    {
        var versions: [String: OwnedDirectory.Version] = [:]
        for (directory, names) in found {
            for path in [directory.path] + names.prefix(Limits.files).map({ "\(directory.path)/\($0)" }) {
                versions[path] = OwnedDirectory.Version(path: path)
            }
        }
        return versions
    }

    private func load(
        _ found: [(directory: Directory, names: [String])]
    ) throws(Shortage) -> [AppIdentifier: Found] {
        var read: [Found] = []
        var names: Set<String> = []
        for (directory, all) in found {
            // Absent is as good as empty.
            guard unsafe access(directory.path, F_OK) == 0 else { continue }
            do throws(OwnedDirectory.Refused) {
                let open = try OwnedDirectory(directory.path, owner: directory.owner)
                guard all.count <= Limits.files else {
                    throw .init(description: "it has more than \(Limits.files) files")
                }
                for name in all where names.insert(name).inserted {
                    let path = "\(directory.path)/\(name)"
                    let bytes: Data
                    do throws(OwnedDirectory.Refused) {
                        bytes = try open.contents(of: name, atMost: AppManifest.Limits.bytes)
                    } catch  where error.shortage == nil {
                        report("\(path) is not used: \(error)")
                        continue
                    }
                    do {
                        read.append(Found(file: path, manifest: try AppManifest(KeyFile(bytes))))
                    } catch {
                        report("\(path) is not used: \(error)")
                    }
                }
            } catch {
                if let shortage = error.shortage { throw shortage }
                report("\(directory.path) is not read: \(error)")
            }
        }
        return withoutConflicts(read)
    }

    /// One manifest for each identity, the first; and no group of two families (KC-43).
    private func withoutConflicts(_ read: [Found]) -> [AppIdentifier: Found] {
        var first: [AppIdentifier: Found] = [:]
        var inOrder: [Found] = []
        for entry in read {
            if let other = first[entry.manifest.identity] {
                report("\(entry.file) is not used: \(other.file) speaks for \(entry.manifest.identity) already")
            } else {
                first[entry.manifest.identity] = entry
                inOrder.append(entry)
            }
        }
        var families: [AccessGroup: Set<String>] = [:]
        for manifest in inOrder.map(\.manifest) {
            for group in manifest.applicationGroups { families[group, default: []].insert(manifest.family ?? "") }
        }
        var manifests: [AppIdentifier: Found] = [:]
        for entry in inOrder {
            // Nobody has it, rather than whoever comes first.
            if let group = entry.manifest.applicationGroups.first(where: { families[$0, default: []].count > 1 }) {
                report("\(entry.file) is not used: \(group) is named by more than one family")
            } else {
                manifests[entry.manifest.identity] = entry
            }
        }
        return manifests
    }
}
