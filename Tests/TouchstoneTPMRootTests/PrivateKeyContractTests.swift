import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneTPMRoot

/// What every P-256 key of the enclave does, wherever it is: in memory while it is used, or in the TPM (DEC-059).
@Suite(.timeLimit(.minutes(10))) struct PrivateKeyContractTests {
    private struct Ground {
        let directory: Directory
        let tpm: SoftwareTPM?
        let keys: BoundDevice.Keys

        init(_ keys: BoundDevice.Keys) throws {
            self.keys = keys
            directory = try Directory()
            tpm = keys == .keyFile ? nil : try SoftwareTPM()
        }

        func device(_ name: String = "device") throws -> BoundDevice {
            let url = directory.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let device = try BoundDevice(in: url, address: tpm?.address, areKeysHeld: keys == .inTPM)
            try device.boot()
            return device
        }
    }

    private static func isValid(_ signature: Data, by point: Data) throws -> Bool {
        let key = try P256.Signing.PublicKey(x963Representation: point)
        return key.isValidSignature(
            try .init(rawRepresentation: signature), for: SHA256.hash(data: Data("data".utf8)))
    }

    private func refusal(_ body: () throws -> Void) -> Status? {
        do {
            try body()
            return nil
        } catch {
            return if case .failed(let status, _, _) = error as? KeyRefusal { status } else { nil }
        }
    }

    @Test(
        "SE-03: signs and exchanges keys, more often than a TPM has room for, also after a restart",
        arguments: BoundDevice.Keys.allCases)
    func uses(keys: BoundDevice.Keys) throws {
        let ground = try Ground(keys)
        let device = try ground.device()
        let made = try (0..<5).map { _ in try device.createKey() }
        for _ in 0..<2 {
            for made in made {
                #expect(try Self.isValid(device.signature(by: made.key), by: made.publicKey))
                let other = P256.KeyAgreement.PrivateKey()
                let expected = try other.sharedSecretFromKeyAgreement(
                    with: .init(x963Representation: made.publicKey))
                #expect(
                    try device.sharedSecret(of: made.key, and: other.publicKey.x963Representation)
                        == expected.withUnsafeBytes { Data($0) })
            }
            try device.boot()
        }
        #expect(Set(made.map(\.publicKey)).count == made.count)
        #expect(try !Self.isValid(device.signature(by: made[0].key), by: made[1].publicKey), "the twin")
    }

    @Test(
        "SE-02: another group, another device, a changed bit, an invalid digest or point: all refused",
        arguments: BoundDevice.Keys.allCases)
    func refusals(keys: BoundDevice.Keys) throws {
        let ground = try Ground(keys)
        let device = try ground.device()
        let key = try device.createKey().key
        #expect(refusal { _ = try device.signature(by: key, groups: ["another"]) } == .itemNotFound)
        for byte in stride(from: 0, to: key.count, by: max(1, key.count / 40)) {
            var changed = key
            changed[byte] ^= 1
            #expect(refusal { _ = try device.signature(by: changed) } == .decode, "byte \(byte)")
        }
        for digest in [Data(), Data(count: 31), Data(count: 33)] {
            #expect(refusal { _ = try device.signature(by: key, of: digest) } == .param)
        }
        for point in [Data(), Data(count: 65), Data([4]) + Data(repeating: 1, count: 64)] {
            #expect(refusal { _ = try device.sharedSecret(of: key, and: point) } == .param)
        }
        #expect(try device.signature(by: key).count == 64)
        device.turnOff()
        let other = try ground.device("other")
        #expect(refusal { _ = try other.signature(by: key) } == .decode)
    }

    @Test(
        "SE-15, AC-20: what the access control wants is wanted, and the class key", arguments: BoundDevice.Keys.allCases
    )
    func controls(keys: BoundDevice.Keys) throws {
        let ground = try Ground(keys)
        let device = try ground.device()
        let passcode: AccessControl.Flags = [.privateKeyUsage, .devicePasscode]
        #expect(refusal { _ = try device.createKey(passcode) } == .authFailed, "there is no passcode yet")
        #expect(try device.change(from: "", to: "1234") == .right)
        let host = try #require(device.host)
        let context = try host.change { enclave, _ in (enclave.createContext(app: "app", accessGroups: ["group"]), []) }
        let made = try device.createKey(passcode, .whenUnlocked)
        let control = try AccessControl(protection: .whenUnlocked, flags: passcode)
        #expect(throws: KeyRefusal.needed(control, .useKeySign)) {
            try device.signature(by: made.key, context: context)
        }
        try host.change { enclave, _ in
            enclave.contexts.prove(.init(passcode: true), to: context)
            return ((), [])
        }
        #expect(try Self.isValid(device.signature(by: made.key, context: context), by: made.publicKey))
        #expect(throws: KeyRefusal.needed(control, .useKeySign)) { try device.signature(by: made.key) }
        try host.change { ((), $0.lock(now: $1)) }
        #expect(refusal { _ = try device.signature(by: made.key, context: context) } == .interactionNotAllowed)
        #expect(refusal { _ = try device.createKey(.privateKeyUsage, .whenUnlocked) } == .interactionNotAllowed)
    }

    @Test(
        "Keys that no TPM knows are as ever, also where those of P-256 are in one", arguments: BoundDevice.Keys.allCases
    )
    func otherKinds(keys: BoundDevice.Keys) throws {
        let device = try Ground(keys).device()
        let made = try device.createKey(kind: .mldsa65)
        let host = try #require(device.host)
        let request = Enclave.KeyRequest(key: made.key, app: "app", accessGroups: ["group"])
        let answer = try host.signMessage(Data("m".utf8), context: Data(), with: request)
        guard case .done(let signature) = answer else { return #expect(Bool(false), "the TPM was asked") }
        let key = try MLDSA65.PublicKey(rawRepresentation: made.publicKey)
        #expect(key.isValidSignature(signature, for: Data("m".utf8)))
    }
}

/// Keys in a TPM that fails them.
@Suite(.timeLimit(.minutes(10))) struct KeysInTPMTests {
    private let directory: Directory
    private let tpm: SoftwareTPM

    init() throws {
        directory = try Directory()
        tpm = try SoftwareTPM()
    }

    private static let sign: UInt32 = 0x15D
    private static let exchange: UInt32 = 0x154

    private func status(_ body: () throws -> Void) -> Status? {
        do {
            try body()
            return nil
        } catch {
            return if case .failed(let status, _, _) = error as? KeyRefusal { status } else { nil }
        }
    }

    @Test(
        "DEC-059: no private number is in the blob, and neither what authorizes the key nor a shared secret is on the line"
    )
    func secrets() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address, areKeysHeld: true)
        try device.boot()
        let made = try device.createKey()
        let other = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        let shared = try device.sharedSecret(of: made.key, and: other)
        _ = try device.signature(by: made.key)
        let opened = try #require(device.host).read { enclave, _ in
            try enclave.key(.init(key: made.key, app: "app", accessGroups: ["group"], context: nil), for: .useKeySign)
        }
        guard case .held(let held, _) = opened else { return #expect(Bool(false), "it is in memory") }
        let object = try JSONDecoder().decode(SealedObject.self, from: held.key)
        let heard = relay.heard
        #expect(relay.codes.contains(Self.sign) && relay.codes.contains(Self.exchange))
        #expect(heard.range(of: shared) == nil && heard.range(of: held.value.bytes) == nil)
        #expect(heard.range(of: object.privateArea.dropFirst(2)) == nil, "encrypted on the way, too")
        #expect(heard.range(of: BoundDevice.digest) == nil)
        // And it would have been found.
        #expect(heard.range(of: object.publicArea.dropFirst(2)) != nil)
        // Where the state does not say so, it is not made there.
        let software = try Directory()
        device.turnOff()
        let plain = try BoundDevice(in: software.url, address: relay.address)
        try plain.boot()
        relay.treat { _, _ in .passed }
        _ = try plain.signature(by: plain.createKey().key)
        #expect(!relay.codes.contains(Self.sign))
    }

    @Test("A TPM that is away, busy or another one: said so, and the key works again; one that was cleared: it is lost")
    func failures() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address, areKeysHeld: true)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let made = try device.createKey()
        tpm.turnOff()
        #expect(status { _ = try device.signature(by: made.key) } == .notAvailable)
        #expect(status { _ = try device.createKey() } == .notAvailable)
        #expect(device.reports.contains { $0.contains("cannot be opened") })
        try tpm.turnOn()
        #expect(try device.signature(by: made.key).count == 64)
        device.turnOff()
        // Cleared, and the device recovered in it: everything is back but what was in the TPM.
        try tpm.tool("tpm2_clear")
        let files = EnclaveFiles(directory.url)
        let state = try #require(try PrivateFile(files.state).load())
        try TPMRoot.recover(
            PrivateFile(files.rootTPM), recovering: PrivateFile(files.recoveringTPM), address: nil,
            recoveryKey: device.recoveryKey
        ) { root, revision in
            try PrivateFile(files.state).replace(
                Enclave.recovered(
                    stateFile: state, root: root, recoveryKey: device.recoveryKey.privateKey,
                    passcode: SecretBytes("1234".utf8), revision: revision))
        }
        try device.boot()
        #expect(try device.unlock("1234") == .right)
        #expect(throws: KeyRefusal.invalidated(.keyLost)) { try device.signature(by: made.key) }
        #expect(device.reports.contains { $0.contains("lost with it") })
        #expect(try device.signature(by: device.createKey().key).count == 64)
    }

    @Test("An answer that was changed on its way is no signature", arguments: [0x15D, 0x154] as [UInt32])
    func changedAnswers(code: UInt32) throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address, areKeysHeld: true)
        try device.boot()
        let made = try device.createKey()
        relay.treat { command, _ in
            guard command.code == code else { return .passed }
            return .answered { answer in
                var changed = answer
                changed[30] ^= 1
                return changed
            }
        }
        let other = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        #expect(
            status {
                if code == Self.sign {
                    _ = try device.signature(by: made.key)
                } else {
                    _ = try device.sharedSecret(of: made.key, and: other)
                }
            } == .notAvailable)
        #expect(relay.codes.contains(code))
        relay.treat { _, _ in .passed }
        #expect(try device.signature(by: made.key).count == 64)
    }

    @Test("DEC-058: while the TPM signs, and says nothing, nobody else waits")
    func silent() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address, areKeysHeld: true)
        try device.boot()
        let made = try device.createKey()
        let speaks = DispatchSemaphore(value: 0)
        relay.treat { command, number in command.code == Self.sign ? .held(speaks) : .passed }
        let host = try #require(device.host)
        let use = Enclave.KeyRequest(key: made.key, app: "app", accessGroups: ["group"], context: nil)
        var ticket: String?
        let took = ContinuousClock().measure {
            if case .later(let later) = try? host.sign(BoundDevice.digest, with: use) { ticket = later }
            #expect(host.answers)
        }
        #expect(took < .seconds(2) && ticket != nil)
        speaks.signal()
        #expect(try device.end(of: #require(ticket)) == .right)
    }
}
