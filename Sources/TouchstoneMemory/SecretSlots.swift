internal import CSodium

/// Room for many secrets of one length in one piece of guarded memory: locked against swapping where the system allows, fenced by guard
/// pages, zeroed when freed, never described.
///
/// > Concurrency: Used by one thread at a time.
@safe package final class SecretSlots {
    private let buffer: UnsafeMutableRawBufferPointer
    private let length: Int

    /// Makes `count` slots of `length` bytes each, all of them zero.
    package init(count: Int, length: Int) {
        SecretBytes.prepare()
        let bytes = max(count * length, 1)
        guard let memory = unsafe sodium_malloc(bytes) else { fatalError("no guarded memory left") }
        unsafe sodium_memzero(memory, bytes)
        unsafe buffer = UnsafeMutableRawBufferPointer(start: memory, count: count * length)
        self.length = length
    }

    /// Puts a secret into a slot, in place of what is there.
    ///
    /// - Returns: Whether it has the slots' length; where not, nothing is changed.
    package func fill(_ slot: Int, with secret: some Collection<UInt8>) -> Bool {
        guard secret.count == length else { return false }
        unsafe bytes(slot).copyBytes(from: secret)
        return true
    }

    /// Zeroes a slot.
    package func wipe(_ slot: Int) {
        if let start = unsafe bytes(slot).baseAddress { unsafe sodium_memzero(start, length) }
    }

    package func withUnsafeBytes<Result>(
        of slot: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(bytes(slot)))
    }

    private func bytes(_ slot: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[(slot * length)..<((slot + 1) * length)])
    }

    deinit {
        if let start = unsafe buffer.baseAddress { unsafe sodium_free(start) }
    }
}

extension SecretSlots: CustomStringConvertible {
    package var description: String { "secrets of \(length) bytes" }
}
