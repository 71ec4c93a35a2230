import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneInterfaces
import TouchstoneMemory
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// Keys that a test's device has in hardware: their answers come by events, as touchstoned gets them.
@Suite(.timeLimit(.minutes(10))) struct HeldKeyTests {
    /// Hardware that answers when a test lets it.
    private final class Hardware: KeyHolder {
        let wasAsked = Gate()
        let mayAnswer = Gate()

        func makeKey(under value: SecretBytes) throws(KeyHolderError) -> (key: Data, publicKey: Data) {
            let key = P256.Signing.PrivateKey()
            return (key.rawRepresentation, key.publicKey.x963Representation)
        }

        func signature(of digest: Data, by key: Data, with value: SecretBytes) throws(KeyHolderError) -> Data {
            wasAsked.open()
            mayAnswer.wait()
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: key),
                let signature = try? key.signature(for: Digest32(bytes: digest))
            else { throw KeyHolderError("that is no key of this hardware", isKeyLost: true) }
            return signature.rawRepresentation
        }

        func sharedSecret(
            of key: Data, and point: Data, with value: SecretBytes
        ) throws(KeyHolderError) -> SecretBytes {
            throw KeyHolderError("this hardware only signs")
        }
    }

    /// A digest that was made before.
    private struct Digest32: Digest {
        static let byteCount = 32
        let bytes: Data

        func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try bytes.withUnsafeBytes(body)
        }
        func makeIterator() -> Data.Iterator { bytes.makeIterator() }
        static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
        func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
        var description: String { "digest" }
    }

    /// As a device's own, and hardware that has the keys.
    private struct Root: RootOfTrust {
        let root = MemoryRoot()
        let hardware = Hardware()
        var kind: String { root.kind }
        var keyHolder: (any KeyHolder)? { hardware }
        func derive(_ label: String, _ input: Data) throws -> SecretBytes { try root.derive(label, input) }
    }

    private let root = Root()
    private let device: BootedDevice
    private let digest = Data(SHA256.hash(data: Data("message".utf8)))

    init() throws {
        let storage = MemoryStorage()
        try storage.replace(
            Enclave.create(isSimulated: true, biometryType: .none, root: root, areKeysHeld: true))
        device = try BootedDevice(storage: storage, root: root, clock: ManualClock(), store: KeychainStore())
    }

    private func makeKey() throws -> KeyInterface.Create.Reply {
        try device.client().call(
            KeyInterface.Create.self,
            .init(
                kind: .p256, accessControl: AccessControl(protection: .afterFirstUnlock, flags: .privateKeyUsage),
                accessGroup: nil, context: nil))
    }

    private func sign(_ key: KeyInterface.Create.Reply) throws -> Data {
        try device.client().call(KeyInterface.Sign.self, .init(key: key.key, data: digest, context: nil)).signature
    }

    @Test("A key is made and used in the hardware, which answers later")
    func answers() throws {
        defer { device.stop() }
        root.hardware.mayAnswer.open()
        let key = try makeKey()
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: sign(key))
        let publicKey = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        #expect(publicKey.isValidSignature(signature, for: Digest32(bytes: digest)))
    }

    @Test("Where the enclave ends while the hardware works, whoever waits hears that the device does not work")
    func enclaveEnds() throws {
        defer { device.stop() }
        let key = try makeKey()
        let found = Mutex<Result<Data, any Error>?>(nil)
        let isAnswered = Gate()
        Thread.detachNewThread {
            let result = Result { try sign(key) }
            found.withLock { $0 = result }
            isAnswered.open()
        }
        root.hardware.wasAsked.wait()
        device.endEnclave()
        isAnswered.wait()
        root.hardware.mayAnswer.open()
        // Who had no ticket yet may see the connection end instead, because the device ends with its enclave.
        do {
            _ = try found.withLock { $0 }?.get()
            Issue.record("a signature without an enclave")
        } catch let error as RemoteError {
            let failed = try #require(error.as(KeyInterface.Failed.self))
            #expect(Status(rawValue: failed.status) == .notAvailable)
            #expect(failed.reason == RefusalCause.deviceNotWorking.rawValue)
        } catch {
            #expect(error as? TransportError == .closed)
        }
    }
}
