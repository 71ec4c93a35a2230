internal import CSodium
internal import Synchronization

/// Bytes in guarded memory: locked against swapping where the system allows, fenced by guard pages, zeroed when freed, never described.
@safe package final class SecretBytes: @unchecked Sendable {
    // Unchecked: the buffer is written only while it is made and read-only ever after.
    private let buffer: UnsafeMutableRawBufferPointer

    /// Makes room for `count` bytes and lets `fill` write them.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        Self.prepare()
        guard let memory = unsafe sodium_malloc(max(count, 1)) else { fatalError("no guarded memory left") }
        unsafe buffer = UnsafeMutableRawBufferPointer(start: memory, count: count)
        // Where this throws, `deinit` runs.
        try unsafe fill(buffer)
        unsafe sodium_mprotect_readonly(memory)
    }

    package convenience init(_ bytes: some Sequence<UInt8>) {
        var copy = ContiguousArray(bytes)
        defer {
            unsafe copy.withUnsafeMutableBytes { copy in
                if let start = copy.baseAddress { unsafe sodium_memzero(start, copy.count) }
            }
        }
        unsafe self.init(count: copy.count) { buffer in
            unsafe buffer.copyBytes(from: copy)
        }
    }

    package static func random(count: Int) -> SecretBytes {
        unsafe SecretBytes(count: count) { buffer in
            if let start = buffer.baseAddress { unsafe randombytes_buf(start, count) }
        }
    }

    package var count: Int { unsafe buffer.count }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe body(UnsafeRawBufferPointer(buffer))
    }

    deinit {
        if let start = unsafe buffer.baseAddress { unsafe sodium_free(start) }
    }

    private static let ready: Bool = sodium_init() >= 0

    static func prepare() {
        precondition(ready, "libsodium did not start")
    }
}

extension SecretBytes: CustomStringConvertible {
    package var description: String { "secret of \(count) bytes" }
}
