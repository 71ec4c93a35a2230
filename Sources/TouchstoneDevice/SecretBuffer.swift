internal import TouchstoneMemory

/// Bytes that nobody else should see, in memory of their own (ND-7): locked against swapping where the system allows, between guard
/// pages, read-only once made, and zeroed when let go.
///
/// What was read into an array or a `Data` before stays there: let a closure write the bytes where they are to stay.
///
/// > Concurrency: Callable from any thread; the bytes never change.
public final class SecretBuffer: Sendable {
    private let bytes: SecretBytes

    /// Makes room, and lets `fill` write into it.
    ///
    /// - Parameters:
    ///   - count: Number of bytes.
    ///   - fill: Writes them; what it leaves out is not zero.
    /// - Throws: What `fill` throws; then nothing is left of what it wrote.
    public init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        bytes = try unsafe SecretBytes(count: count, fill: fill)
    }

    /// Copies bytes.
    ///
    /// - Parameter bytes: Stay where they are, too: wiping them is up to the caller.
    public init(_ bytes: some Sequence<UInt8>) {
        self.bytes = SecretBytes(bytes)
    }

    /// Number of bytes.
    public var count: Int { bytes.count }

    /// Lends the bytes to `body`, which must not keep the pointer.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }

    /// Whether two hold the same bytes: in a time that depends on their number alone.
    public func equals(_ other: SecretBuffer) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                var difference: UInt8 = 0
                for index in 0..<mine.count { difference |= unsafe mine[index] ^ theirs[index] }
                return difference == 0
            }
        }
    }
}

extension SecretBuffer: CustomStringConvertible {
    /// How long it is, and nothing else.
    public var description: String { "secret of \(count) bytes" }
}
