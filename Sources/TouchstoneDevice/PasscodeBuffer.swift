internal import Glibc
internal import TouchstoneCore

/// A passcode while it is typed: fixed memory, kept out of swap where the system allows, never copied, wiped when done.
///
/// > Concurrency: For one thread at a time.
@safe public final class PasscodeBuffer {
    private let memory: UnsafeMutableRawBufferPointer
    /// Bytes; one more than fit where it is too long.
    public private(set) var count = 0

    /// An empty one.
    public init() {
        // One byte more than is allowed, so that too long is told from just fitting.
        unsafe memory = .allocate(byteCount: SealedPasscode.maximumPasscodeLength + 1, alignment: Self.alignment)
        // Best effort: without the right to lock memory the bytes are still wiped.
        _ = unsafe mlock(memory.baseAddress!, memory.count)
        _ = unsafe madvise(memory.baseAddress!, memory.count, MADV_DONTDUMP)
        wipe()
    }

    deinit {
        wipe()
        _ = unsafe munlock(memory.baseAddress!, memory.count)
        unsafe memory.deallocate()
    }

    /// Whether it is longer than 256 bytes.
    public var isTooLong: Bool { count > SealedPasscode.maximumPasscodeLength }

    /// Appends one byte; what does not fit is dropped, and the passcode is too long.
    ///
    /// - Parameter byte: The next of its UTF-8.
    public func append(_ byte: UInt8) {
        guard count <= SealedPasscode.maximumPasscodeLength else { return }
        unsafe memory[count] = byte
        count += 1
    }

    /// Removes the last character, which may be several bytes of UTF-8.
    package func removeLastCharacter() {
        while count > 0 {
            count -= 1
            let byte = unsafe memory[count]
            unsafe memory[count] = 0
            if byte & 0xC0 != 0x80 { return }
        }
    }

    /// Number of characters, for the dots.
    package var characters: Int {
        unsafe memory.prefix(count).count { $0 & 0xC0 != 0x80 }
    }

    /// Makes it empty and its memory zero, as its end does too.
    public func wipe() {
        unsafe explicit_bzero(memory.baseAddress!, memory.count)
        count = 0
    }

    package func equals(_ other: PasscodeBuffer) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count { difference |= unsafe memory[index] ^ other.memory[index] }
        return difference == 0
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: memory.prefix(count)))
    }

    private static let alignment = 16
}

/// Its bytes, to be put where they are sealed.
extension PasscodeBuffer: Collection {
    /// 0.
    public var startIndex: Int { 0 }
    /// Its length.
    public var endIndex: Int { count }
    /// The next.
    public func index(after index: Int) -> Int { index + 1 }
    /// A byte of it.
    public subscript(index: Int) -> UInt8 { unsafe memory[index] }
}
