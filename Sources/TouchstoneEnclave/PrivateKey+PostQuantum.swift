import Crypto
import Foundation
import TouchstoneCore

extension PrivateKey {
    /// Bytes of what is signed whole, and of the context string of FIPS 204.
    static let longestMessage = 512 << 10
    static let longestContext = 255

    /// - Throws: `.param` where the key is not of ML-DSA, or the message or the context string is too long.
    func signature(forMessage message: Data, context: Data) throws(Status) -> Data {
        guard message.count <= Self.longestMessage,
            context.count <= Self.longestContext
        else { throw .param }
        do {
            switch self {
            case .mldsa65(let key): return try key.signature(for: message, context: context)
            case .mldsa87(let key): return try key.signature(for: message, context: context)
            default: throw Status.param
            }
        } catch {
            throw .param
        }
    }

    /// - Throws: `.param` where the key is not of ML-KEM, or the secret has not the length of one that was encapsulated to it.
    func decapsulate(_ encapsulated: Data) throws(Status) -> Data {
        do {
            let secret =
                switch self {
                case .mlkem768(let key): try key.decapsulate(encapsulated)
                case .mlkem1024(let key): try key.decapsulate(encapsulated)
                default: throw Status.param
                }
            return unsafe secret.withUnsafeBytes { unsafe Data($0) }
        } catch {
            throw .param
        }
    }
}
