internal import CNettle
internal import Crypto
internal import Foundation

/// SHA-224, which swift-crypto has not.
struct SHA224: HashFunction {
    static let blockByteCount = Int(SHA224_BLOCK_SIZE)

    private var context = sha256_ctx()

    init() { unsafe nettle_sha224_init(&context) }

    mutating func update(bufferPointer: UnsafeRawBufferPointer) {
        let bytes = unsafe bufferPointer.assumingMemoryBound(to: UInt8.self)
        unsafe nettle_sha256_update(&context, bytes.count, bytes.baseAddress)
    }

    func finalize() -> SHA224Digest {
        var context = context
        var bytes = [UInt8](repeating: 0, count: SHA224Digest.byteCount)
        unsafe nettle_sha224_digest(&context, bytes.count, &bytes)
        return SHA224Digest(bytes: bytes)
    }
}

/// What SHA-224 makes.
struct SHA224Digest: Digest {
    static let byteCount = Int(SHA224_DIGEST_SIZE)

    let bytes: [UInt8]

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
