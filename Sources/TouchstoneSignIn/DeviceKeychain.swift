import Crypto
import Foundation

#if canImport(TouchstoneSecurity)
import TouchstoneCoreFoundation
import TouchstoneSecurity
#else
import Security
#endif

/// The keys of this device and what belongs to them, in the keychain: one record for each server, a device id, and a counter for each key.
///
/// Everything is for this device only and blocks; it runs on a queue of its own.
@available(macOS 14, iOS 17, *)
actor DeviceKeychain {
    private nonisolated let executor = BlockingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    // MARK: the record of a server

    func record(_ audience: String) throws(SignInError) -> RegisteredServer? {
        guard let data = try Item(.record, account: audience).read() else { return nil }
        return try Self.decoded(data)
    }

    func records() throws(SignInError) -> [RegisteredServer] {
        var records: [RegisteredServer] = []
        for audience in try Item.accounts(of: .record).sorted() {
            if let record = try record(audience) { records.append(record) }
        }
        return records
    }

    func store(_ record: RegisteredServer) throws(SignInError) {
        guard let data = try? JSONEncoder().encode(record) else { throw .keychain(errSecParam) }
        try Item(.record, account: record.audience).write(data)
    }

    private static func decoded(_ data: Data) throws(SignInError) -> RegisteredServer {
        guard let record = try? JSONDecoder().decode(RegisteredServer.self, from: data) else {
            throw .keychain(errSecDecode)
        }
        return record
    }

    /// Notes that the record's key is lost, and deletes what is left of it (NP-31).
    ///
    /// A record of another key stays as it is.
    func invalidate(_ lost: RegisteredServer, _ reason: SignInError.RegistrationReason) throws(SignInError) {
        guard var record = try record(lost.audience), record.keyTag == lost.keyTag else { return }
        record.registrationNeeded = record.registrationNeeded ?? reason
        // A key that was to follow is for the same fingers.
        let pending = record.pending
        record.pending = nil
        try store(record)
        try deleteKey(tag: lost.keyTag)
        if let pending { try deleteKey(tag: pending.keyTag) }
    }

    /// Deletes whatever there is about a server; the server is told nothing.
    func forget(_ audience: String) throws(SignInError) {
        _ = try deleteRegistration(audience)
        try Item(.device, account: audience).delete()
    }

    /// - Returns: Whether there was something.
    private func deleteRegistration(_ audience: String) throws(SignInError) -> Bool {
        let tags = try EnclaveKeys.tags(label: audience)
        for tag in tags { try deleteKey(tag: tag) }
        let record = Item(.record, account: audience)
        let isKnown = try record.read() != nil
        // Last, so that an interrupted call is found again.
        try record.delete()
        return isKnown || !tags.isEmpty
    }

    /// Has this installation take over what is in the keychain, or deletes what an earlier one has left (KC-45, NP-32).
    ///
    /// Device ids stay: the next registration is the same device's, and the server puts its key in place of the earlier one (NP-22).
    ///
    /// - Returns: Whether there was something of an earlier one.
    func adopt(installation marker: Data) throws(SignInError) -> Bool {
        let item = Item(.installation, account: "")
        if try item.read() == marker { return false }
        var audiences = Set(try Item.accounts(of: .record))
        audiences.formUnion(try Item.accounts(of: .device))
        var wasThere = false
        for audience in audiences where try deleteRegistration(audience) { wasThere = true }
        try item.write(marker)
        return wasThere
    }

    // MARK: the device

    /// This device, as one server knows it: made at the first registration, and kept for the next ones (NP-22).
    func deviceID(_ audience: String) throws(SignInError) -> Data {
        let item = Item(.device, account: audience)
        if let known = try item.read(), known.count == Self.deviceIDLength { return known }
        var generator = SystemRandomNumberGenerator()
        let made = Data((0..<Self.deviceIDLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        try item.write(made)
        return made
    }

    private static let deviceIDLength = 16

    // MARK: keys

    /// Fails where the owner could not be asked for a finger or a face now; asks for nobody.
    func checkBiometry() throws(SignInError) { try Prompt.checkBiometry() }

    /// Makes a key for the fingers or faces that are enrolled now.
    func makeKey(_ audience: String) throws -> NewKey { try EnclaveKeys.make(label: audience) }

    /// Deletes every key for the server but one: those of registrations that were not finished, and the one before.
    func deleteKeys(_ audience: String, except tag: String) throws(SignInError) {
        for other in try EnclaveKeys.tags(label: audience) where other != tag { try deleteKey(tag: other) }
    }

    func deleteKey(tag: String) throws(SignInError) {
        try EnclaveKeys.delete(tag: tag)
        try Item(.counter, account: tag).delete()
    }

    /// Asks the owner and signs.
    ///
    /// - Throws: ``KeyUseFailure``.
    func sign(_ message: Data, tag: String, prompt: Prompt) throws -> Data {
        try EnclaveKeys.sign(message, tag: tag, prompt: prompt)
    }

    /// The next number of a key, which is in the keychain for good before it is used (NP-23): after a crash there is a gap, and no number
    /// twice, also where several processes of an app count.
    func nextCounter(tag: String) throws -> UInt64 { try Counter(tag: tag).next() }

    func startCounter(tag: String, at value: UInt64) throws(SignInError) { try Counter(tag: tag).start(at: value) }
}

/// A key that was made just now.
struct NewKey: Sendable {
    let tag: String
    let publicKey: P256.Signing.PublicKey

    /// SHA-256 of the SubjectPublicKeyInfo.
    var id: Data { Data(SHA256.hash(data: publicKey.derRepresentation)) }
}
