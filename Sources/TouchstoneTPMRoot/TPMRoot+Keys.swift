package import Foundation
package import TouchstoneEnclave
package import TouchstoneMemory

/// Private keys of apps in the TPM, under the primary key that is pinned: loaded for one use, and flushed (DEC-059).
extension TPMRoot: KeyHolder {
    package var keyHolder: (any KeyHolder)? { self }

    package func makeKey(under value: SecretBytes) throws(KeyHolderError) -> (key: Data, publicKey: Data) {
        try asking { connection in
            let made = try connection.makeKey(under: value)
            return (try JSONEncoder().encode(made.object), made.point)
        }
    }

    package func signature(of digest: Data, by key: Data, with value: SecretBytes) throws(KeyHolderError) -> Data {
        try asking { try $0.sign(digest, JSONDecoder().decode(SealedObject.self, from: key), value: value) }
    }

    package func sharedSecret(of key: Data, and point: Data, with value: SecretBytes) throws(KeyHolderError)
        -> SecretBytes
    {
        try asking { try $0.exchange(point, JSONDecoder().decode(SealedObject.self, from: key), value: value) }
    }

    private func asking<Result: Sendable>(_ body: (TPMConnection) throws -> Result) throws(KeyHolderError) -> Result {
        do {
            return try use(body)
        } catch {
            throw KeyHolderError("\(error)", isKeyLost: (error as? TPMError)?.code == .foreign)
        }
    }
}
