import BridgeCore

/// What the file of a process says of it.
struct SeenProgram: Sendable {
    /// Whether it is in a sandbox (BR-7).
    let isSandboxed: Bool
    /// What a grant is for; nil where nobody can tell (SS-35).
    let fingerprint: String?

    /// Looks at it; that can take long, or for ever where a file system is a program of somebody's.
    init(_ sighting: Sighting) {
        // Nobody can look into the root directory of a process that has ended.
        isSandboxed = sighting.process.map { $0.isSandboxed || !$0.isThere } ?? false
        let identity = sighting.process.flatMap { ProgramIdentity($0) }
        fingerprint = identity.flatMap { $0.path == sighting.path ? $0.fingerprint : nil }
    }
}
