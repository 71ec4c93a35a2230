import BridgeCore
import SecretServiceModel

/// What the file of a process says of it.
struct SeenProgram: Sendable {
    /// Whether it is in a sandbox (BR-7).
    let isSandboxed: Bool
    /// What a grant is for; nil where nobody can tell (SS-35).
    let granted: GrantedProgram?

    /// Looks at it; that can take long, or for ever where a file system is a program of somebody's.
    init(_ sighting: Sighting) {
        // Nobody can look into the root directory of a process that has ended.
        isSandboxed = sighting.process.map { $0.isSandboxed || !$0.isThere } ?? !sighting.isRoots
        let identity = sighting.process.flatMap { ProgramIdentity($0) }
        granted = identity.flatMap { identity in
            guard identity.path == sighting.path else { return nil }
            return GrantedProgram(row: identity.fingerprint, path: identity.path, digest: identity.digest)
        }
    }
}
