public import Foundation

/// Judges where a new key lives (NP-21): App Attest on Apple's platforms, a TPM's certificate on Linux.
///
/// Without an attestation nobody knows that a key is in hardware or that a finger guards it: a changed client can register
/// any key.
public protocol AttestationVerifier: Sendable {
    /// - Parameters:
    ///   - statement: what the client sent, in the form that this verifier knows.
    ///   - publicKey: the new key, SubjectPublicKeyInfo in DER.
    ///   - challenge: the registration's, which the statement has to be about.
    /// - Returns: what was proven, a word for the log; nil refuses the registration.
    /// - Throws: Whatever keeps it from judging; nothing is registered then.
    func verify(_ statement: Data, publicKey: Data, challenge: Data) async throws -> String?
}
