internal import Glibc
internal import Synchronization

/// The device's owner, by name: who is to be recognised.
package enum UserName {
    private static let owner = Mutex(geteuid())

    /// Says whose device it is, where that is not this process's user: once, before there is a sensor.
    package static func setOwner(_ id: UInt32) { owner.withLock { $0 = id } }

    /// As fprintd is told it: empty for this process's own user.
    static var claimed: String { owner.withLock { $0 } == geteuid() ? "" : own }

    static var own: String {
        let id = owner.withLock { $0 }
        return unsafe getpwuid(id).flatMap { unsafe String(cString: $0.pointee.pw_name) } ?? "\(id)"
    }
}
