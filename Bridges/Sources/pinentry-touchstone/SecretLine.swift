import Glibc
import PinentryProtocol

/// A line, or what was typed, in memory of its own that is kept out of swap where the system allows, and wiped.
@safe final class SecretLine {
    private let memory: UnsafeMutableRawBufferPointer
    /// Bytes; one more than ``AssuanText/maximumCount`` where it is too long.
    private(set) var count = 0

    init() {
        unsafe memory = .allocate(
            byteCount: Int(sysconf(Int32(_SC_PAGESIZE))), alignment: Int(sysconf(Int32(_SC_PAGESIZE))))
        precondition(unsafe memory.count > AssuanText.maximumCount + 1)
        // Best effort: without the right to lock memory it is still wiped.
        _ = unsafe mlock(memory.baseAddress!, memory.count)  // it has a page
        _ = unsafe madvise(memory.baseAddress!, memory.count, MADV_DONTDUMP)
    }

    deinit {
        wipe()
        _ = unsafe munlock(memory.baseAddress!, memory.count)
        unsafe memory.deallocate()
    }

    var isTooLong: Bool { count > AssuanText.maximumCount }

    /// What does not fit is dropped, and the line is too long.
    func append(_ byte: UInt8) {
        guard !isTooLong else { return }
        unsafe memory[count] = byte
        count += 1
    }

    func append(_ bytes: some Sequence<UInt8>) { for byte in bytes { append(byte) } }

    func wipe() {
        unsafe explicit_bzero(memory.baseAddress!, memory.count)
        count = 0
    }

    /// Takes the next line of a descriptor, without its line feed, in the place of what it has.
    ///
    /// - Returns: False at the end.
    func read(_ descriptor: Int32) -> Bool {
        wipe()
        // One byte at a time, so that what was typed is in no other memory.
        var byte: UInt8 = 0
        defer { unsafe explicit_bzero(&byte, 1) }
        while true {
            let got = unsafe Glibc.read(descriptor, &byte, 1)
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { return false }
            if byte == 0x0A { return true }
            append(byte)
        }
    }

    /// Writes it with a line feed.
    ///
    /// - Returns: False where nobody reads.
    func write(_ descriptor: Int32) -> Bool {
        unsafe memory[count] = 0x0A
        defer { unsafe memory[count] = 0 }
        var sent = 0
        while sent <= count {
            let some = unsafe Glibc.write(descriptor, memory.baseAddress! + sent, count + 1 - sent)
            if some < 0, errno == EINTR { continue }
            guard some > 0 else { return false }
            sent += some
        }
        return true
    }
}

extension SecretLine: Collection {
    var startIndex: Int { 0 }
    var endIndex: Int { count }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> UInt8 { unsafe memory[index] }
}
