internal import Crypto
package import Foundation
package import TouchstoneCore

/// What a caller hands over to be signed.
package enum SignatureInput: Hashable, Sendable {
    case message(HashAlgorithm)
    /// Of a hash that is named, or of any length.
    case digest(HashAlgorithm?)

    package var hash: HashAlgorithm? {
        switch self {
        case .message(let hash): hash
        case .digest(let hash): hash
        }
    }

    /// What the key itself works on.
    ///
    /// - Throws: `errSecParam` for a digest that is not as long as those of its hash.
    package func digest(of data: Data) throws(Status) -> Data {
        switch self {
        case .message(let hash): return hash.hash(data)
        case .digest(nil): return data
        case .digest(let hash?):
            guard data.count == hash.byteCount else { throw .param }
            return data
        }
    }
}

/// A digest that was made elsewhere, of any length.
struct GivenDigest: Digest {
    // Of no fixed length; nothing that signs asks for it.
    static let byteCount = 0

    let data: Data

    var description: String { "digest of \(data.count) bytes" }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe data.withUnsafeBytes(body)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(data) }
}
