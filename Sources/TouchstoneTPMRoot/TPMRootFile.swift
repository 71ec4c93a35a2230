import Foundation
import TouchstoneEnclave
import TouchstoneMemory

/// The file beside the state that finds the root in the TPM again; it has no secret, and the TPM has to confirm all of it.
struct TPMRootFile: Codable, Sendable {
    var version = 1
    var address: String
    /// Of the primary key.
    var name: Data
    /// Of the same in the endorsement hierarchy; absent if it has a password.
    var endorsementName: Data?
    var root: SealedObject
    /// The counter's NV index.
    var counter: UInt32
    /// The root's secret, sealed to the recovery key.
    var recovery: Data

    init(address: String, name: Data, endorsementName: Data?, root: SealedObject, counter: UInt32, recovery: Data) {
        self.address = address
        self.name = name
        self.endorsementName = endorsementName
        self.root = root
        self.counter = counter
        self.recovery = recovery
    }

    init(_ storage: any EnclaveStorage) throws {
        guard let bytes = try storage.load() else { throw TPMError(code: .badFile(reason: "is missing"), address: "") }
        guard let file = try? JSONDecoder().decode(TPMRootFile.self, from: bytes) else {
            throw TPMError(code: .badFile(reason: "cannot be read"), address: "")
        }
        guard file.version == 1 else {
            throw TPMError(
                code: .badFile(reason: "has version \(file.version); update Touchstone"), address: file.address)
        }
        guard Self.indices.contains(file.counter) else {
            throw TPMError(code: .badFile(reason: "names an index that is not ours"), address: file.address)
        }
        self = file
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// - Throws: `TPMError`, `cleared` or `replaced` if it is not the one that this device was created with.
    func connect() throws -> TPMConnection {
        try TPMConnection(TPMAddress(address), pinned: .init(name: name, endorsementName: endorsementName))
    }

    /// Removes the device's counter from the TPM that the file names, and from no other; with `isAll` its passcode's gate as well.
    func forget(isAll: Bool = true) throws {
        let connection = try connect()
        try connection.undefine(counter)
        // It is known by what only the secret tells; without that, it is left.
        guard isAll, let secret = try? connection.unseal(root, with: nil) else { return }
        try connection.tidy(Self.indices, keeping: []) { Self.mark(secret, $0) }
    }

    static func someIndex() -> UInt32 { .random(in: indices) }

    /// Distinguishes this device's index from all others, for a holder of the root's secret.
    static func mark(_ secret: SecretBytes, _ index: UInt32) -> Data {
        unsafe secret.derive("tpm index \(index)").withUnsafeBytes { unsafe Data($0) }
    }

    /// The owner's part of the NV indices, by the TCG's registry.
    static let indices: ClosedRange<UInt32> = 0x0180_0000...0x01BF_FFFF
}
