import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstonePeers
import TouchstoneSystem

/// What apps are called in a table: as their manifests say now, with the identifier behind it.
///
/// A manifest in a directory of the user's can give any name. So the identifier, which touchstoned verified, is always shown too.
struct AppNames {
    private let name: (String) -> String?

    /// - Parameter paths: The device whose manifests speak for its apps.
    init(_ paths: DevicePaths) {
        let manifests = AppManifests(
            paths.isSystem ? AppManifests.system : AppManifests.simulated(state: paths.state, owner: getuid())
        ) { _ in }
        self.init { (try? manifests.manifest(for: AppIdentifier($0)))?.name }
    }

    init(name: @escaping (String) -> String?) {
        self.name = name
    }

    /// `Chores (/usr/bin/chores)`, or the identifier alone where no manifest speaks for it; a long one without its middle.
    func shown(_ app: String) -> String {
        guard let name = name(app) else { return Self.short(app, longest: Self.longest) }
        return "\(name.prefix(Self.longestName)) (\(Self.short(app, longest: Self.longestBesideName)))"
    }

    /// A long identifier is a path: where it begins and the program's name tell more than what is between.
    static func short(_ app: String, longest: Int) -> String {
        app.count <= longest ? app : "\(app.prefix(beginning))…\(app.suffix(longest - beginning - 1))"
    }

    private static let beginning = 9
    private static let longest = 32
    private static let longestBesideName = 26
    private static let longestName = 24
}
