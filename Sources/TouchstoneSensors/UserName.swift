internal import Glibc
internal import Synchronization

/// The device's owner, by name: who is to be recognised.
package enum UserName {
    private static let owner = Mutex(geteuid())

    /// Says whose device it is, where that is not this process's user: once, before there is a sensor.
    package static func setOwner(_ id: UInt32) { owner.withLock { $0 = id } }

    /// The owner's number.
    package static var id: UInt32 { owner.withLock { $0 } }

    /// As fprintd is told it: empty for this process's own user.
    static var claimed: String { id == geteuid() ? "" : own ?? "\(id)" }

    /// nil if ``PasswordFile`` does not have it.
    package static var own: String? { PasswordFile.system.name(of: id) }
}
