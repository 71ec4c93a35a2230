internal import CSodiumHash
internal import Foundation

/// A password or a key of a store, in guarded memory: locked against swapping where the system allows, zeroed when freed,
/// never described (SY-31).
@safe package final class StoreSecret: @unchecked Sendable {
    // Unchecked: the buffer is written only while it is made.
    private let buffer: UnsafeMutableRawBufferPointer

    /// Longest, in bytes.
    package static let longest = 4096

    /// - Throws: ``StoreError/invalid(_:)`` if it is empty or longer than ``longest``.
    package init(_ bytes: some Collection<UInt8>) throws(StoreError) {
        guard 1...Self.longest ~= bytes.count else {
            throw .invalid("a password or key has 1…\(Self.longest) bytes, and this has \(bytes.count)")
        }
        unsafe buffer = Self.memory(bytes.count)
        unsafe buffer.copyBytes(from: bytes)
    }

    /// HMAC-SHA-256 of a text; 32 bytes.
    init(authenticating text: String, by key: StoreSecret, prefix: String = "") {
        unsafe buffer = Self.memory(Int(crypto_auth_hmacsha256_BYTES))
        var state = crypto_auth_hmacsha256_state()
        // A key with something before it: in guarded memory too.
        let whole = unsafe Self.memory(prefix.utf8.count + key.buffer.count)
        defer { unsafe sodium_free(whole.baseAddress) }
        unsafe whole.copyBytes(from: prefix.utf8)
        unsafe UnsafeMutableRawBufferPointer(rebasing: whole[prefix.utf8.count...]).copyMemory(from: .init(key.buffer))
        unsafe crypto_auth_hmacsha256_init(
            &state, whole.baseAddress!.assumingMemoryBound(to: UInt8.self), whole.count)
        let bytes = Array(text.utf8)
        unsafe crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        unsafe crypto_auth_hmacsha256_final(&state, buffer.baseAddress!.assumingMemoryBound(to: UInt8.self))
        unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
    }

    deinit { unsafe sodium_free(buffer.baseAddress) }

    /// For what is no secret any more, such as a signature.
    var hexadecimal: String { unsafe buffer.hexadecimal }

    /// With a zero byte behind it, as C has texts; the copy is gone afterwards.
    func withCString<Answer>(_ body: (UnsafePointer<CChar>) throws -> Answer) rethrows -> Answer {
        let copy = unsafe Self.memory(buffer.count + 1)
        defer { unsafe sodium_free(copy.baseAddress) }
        unsafe copy.copyMemory(from: .init(buffer))
        unsafe copy[buffer.count] = 0
        return try unsafe body(copy.baseAddress!.assumingMemoryBound(to: CChar.self))
    }

    private static let isReady = sodium_init() >= 0

    private static func memory(_ count: Int) -> UnsafeMutableRawBufferPointer {
        guard isReady, let memory = unsafe sodium_malloc(max(count, 1)) else { fatalError("no guarded memory left") }
        return unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
    }
}

extension StoreSecret: CustomStringConvertible {
    package var description: String { "a secret" }
}

extension Sequence<UInt8> {
    /// Two digits each, in small letters.
    var hexadecimal: String {
        reduce(into: "") { text, byte in text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    }
}

/// SHA-256 of bytes; 32 bytes.
func sha256(_ bytes: Data) -> Data {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    unsafe bytes.withUnsafeBytes { bytes in
        // libsodium takes no NULL, also for no bytes.
        var nothing: UInt8 = 0
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        _ = unsafe withUnsafePointer(to: &nothing) {
            unsafe crypto_hash_sha256(&hash, start ?? $0, UInt64(bytes.count))
        }
    }
    return Data(hash)
}
