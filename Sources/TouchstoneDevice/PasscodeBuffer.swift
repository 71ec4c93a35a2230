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
        // Pages of its own: what is said of them is said of nothing else. One byte more than is allowed is used, so that too long is
        // told from just fitting.
        let count = Int(sysconf(Int32(_SC_PAGESIZE)))
        precondition(count > SealedPasscode.maximumPasscodeLength)
        let pages = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let pages = unsafe pages, unsafe pages != MAP_FAILED else { fatalError("no memory for a passcode") }
        unsafe memory = UnsafeMutableRawBufferPointer(start: pages, count: count)
        // Best effort: without the right to lock memory the bytes are still wiped.
        _ = unsafe mlock(pages, count)
        _ = unsafe madvise(pages, count, MADV_DONTDUMP)
    }

    deinit {
        wipe()
        _ = unsafe munmap(memory.baseAddress!, memory.count)
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
    public func removeLastCharacter() {
        while count > 0 {
            count -= 1
            let byte = unsafe memory[count]
            unsafe memory[count] = 0
            if byte & 0xC0 != 0x80 { return }
        }
    }

    /// Number of characters, for the dots.
    public var characters: Int {
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
