internal import CTouchstoneSystem
internal import Glibc

/// A descriptor that came with a message: a copy, which is closed with the last reference to it.
///
/// Each one is equal to itself alone.
public final class BusDescriptor: Hashable, Sendable {
    /// Its number in this process.
    public let number: Int32

    /// Copies a descriptor; nil where this process has no room for it.
    init?(copying other: Int32) {
        number = fcntl(other, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { return nil }
    }

    deinit {
        touchstone_interrupt_closing(true)
        close(number)
        touchstone_interrupt_closing(false)
    }

    /// Whether both are the same one.
    public static func == (one: BusDescriptor, other: BusDescriptor) -> Bool { one === other }

    /// By which one it is.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
