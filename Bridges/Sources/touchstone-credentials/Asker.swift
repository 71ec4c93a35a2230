import BridgeCore
import Foundation

/// For whom a helper asks (GC-1): the program that started it, without what only stands between.
struct Asker {
    private static let helpers: Set<String> = [
        "git-credential-touchstone", "docker-credential-touchstone", "touchstone-run", "touchstone-security",
        "pinentry-touchstone",
    ]
    /// They run a helper for themselves, so that the outermost of them is who asks.
    private static let wrappers: Set<String> = ["git", "docker", "podman", "buildah", "skopeo"]
    private static let shells: Set<String> = ["sh", "dash", "bash"]

    /// Who the prompt names.
    let client: Client
    /// Whose grants count (BR-13): the client, or the nearest program above it that is more than a way to ask.
    ///
    /// Nil where nobody knows: such a client has no grants (BR-12).
    var grantee: ClientProcess? {
        guard case .known(let process, let path) = client else { return nil }
        return Multiplexers.contain(path) ? process.starter : process
    }

    /// Whether one of our own helpers, from where this program lies, is at the other end.
    let isHelper: Bool

    init(_ peer: Client) {
        guard case .known(let process, let path) = peer, Self.isOurs(path) else {
            client = peer
            isHelper = false
            return
        }
        isHelper = true
        let name = (path as NSString).lastPathComponent
        guard name.contains("-credential-") || name == "pinentry-touchstone" else {
            client = peer
            return
        }
        client = Self.outermost(process) ?? .unknown
    }

    private static func isOurs(_ path: String) -> Bool {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let directory = (path as NSString).deletingLastPathComponent
        let places = [(own as NSString).deletingLastPathComponent, "/usr/bin", "/usr/libexec/touchstone"]
        return places.contains(directory) && helpers.contains((path as NSString).lastPathComponent)
    }

    /// The last of the wrappers above a helper; without a wrapper, what started the helper.
    ///
    /// Nil where nobody knows: a service manager starts anything, and takes over whatever lost its parent.
    private static func outermost(_ helper: ClientProcess) -> Client? {
        var found: Client?
        var child = helper
        let ancestors = helper.ancestors
        for (index, ancestor) in ancestors.enumerated() {
            guard !isOutermost(child), let path = ancestor.executable else { break }
            child = ancestor
            let name = (path as NSString).lastPathComponent
            if isWrapper(name) {
                found = .known(ancestor, executable: path)
            } else if shells.contains(name), index + 1 < ancestors.count,
                let above = ancestors[index + 1].executable, isWrapper((above as NSString).lastPathComponent)
            {
                // The shell that git runs a helper's name with.
                continue
            } else {
                return found ?? .known(ancestor, executable: path)
            }
        }
        return found
    }

    /// Whether a service manager is next above it: then it is where its session is anchored.
    private static func isOutermost(_ process: ClientProcess) -> Bool {
        process.clientSession.map { $0.anchor == process } ?? true
    }

    private static func isWrapper(_ name: String) -> Bool { wrappers.contains(name) || name.hasPrefix("git-remote-") }
}
