import CryptoKit
import Foundation

struct Chore: Codable, Sendable {
    let id: UUID
    let title: String
    var isDone = false
}

/// The chores, and the owner's signature of them: kept like this, so that what was not signed is seen.
struct ChoreList: Codable {
    private let chores: Data
    private let signature: Data

    init(_ chores: [Chore], signedBy owner: Owner) throws {
        self.chores = try JSONEncoder().encode(chores)
        signature = try owner.sign(self.chores)
    }

    /// What the owner signed.
    ///
    /// - Parameter keys: The owner's keys; nobody is asked for their public halves.
    /// - Returns: The chores.
    /// - Throws: `NotSigned` where none of them made the signature.
    func chores(signedWith keys: [Data]) throws -> [Chore] {
        // What is not a signature at all is nobody's either.
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { throw NotSigned() }
        for key in keys {
            let key = try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: key)
            if key.publicKey.isValidSignature(signature, for: chores) {
                return try JSONDecoder().decode([Chore].self, from: chores)
            }
        }
        throw NotSigned()
    }

    struct NotSigned: Error {}

    static let maximumChores = 100
    static let maximumTitleLength = 100
}
