import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneTPMRoot

/// The counter that shows an older state, and what an earlier passcode opens.
extension TPMRootTests {
    // MARK: the counter

    @Test("PC-34: an old state is refused, a newer one is not, and the number is not lost with the power")
    func rollback() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        let old = try #require(try stateFile.load())
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        let new = try #require(try stateFile.load())
        tpm.turnOff()
        try tpm.turnOn()
        try stateFile.replace(old)
        #expect(throws: EnclaveStateError.rolledBack) { try device.boot() }
        try stateFile.replace(new)
        try device.boot()
    }

    @Test("A counter that was taken away is missed; one that is put in its place without our value is not believed")
    func counterGone() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        let index = String(format: "0x%x", try TPMRootFile(rootFile).counter)
        try tpm.tool("tpm2_nvundefine", "-C", "o", index)
        do {
            let root = try TPMRoot(rootFile)
            #expect { try root.read() } throws: { ($0 as? TPMError)?.code == .counterGone }
        }
        try tpm.tool("tpm2_nvdefine", "-C", "o", "-a", "authread|authwrite|no_da|nt=counter", index)
        try tpm.tool("tpm2_nvincrement", index)
        let root = try TPMRoot(rootFile)
        for use in [{ _ = try root.read() }, { try root.advance(to: 9) }] {
            #expect { try use() } throws: { ($0 as? TPMError)?.code == .counterGone }
        }
    }

    // MARK: an earlier passcode

    /// The NV indices in the TPM; the device is off.
    func indices() throws -> Set<String> {
        Set(try tpm.tool("tpm2_getcap", "handles-nv-index").split(whereSeparator: \.isWhitespace).map(String.init))
            .filter { ("0x1800000"..."0x1bfffff").contains($0.lowercased()) }
    }

    /// What an attacker with the disk, the root's secret and a passcode makes of a copy of the state.
    private func opens(_ state: Data, _ passcode: String, _ root: any RootOfTrust) throws -> Bool {
        let key = try root.derive("device key", Data()).derive("state")
        let kept = try #require(try EnclaveStateFile.decode(state, key: key).passcode)
        let derived = try? PasscodeDerivation(
            passcode: SecretBytes(passcode.utf8), salt: kept.salt, cost: kept.cost, root: root, gate: kept.gate
        ).run()
        return derived.flatMap { ClassKeys(kept.classKeys, under: $0) } != nil
    }

    @Test("DEC-060: once the passcode is another, a copy of the state from before opens with the old one nowhere")
    func earlierPasscode() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let old = try #require(try stateFile.load())
        #expect(try opens(old, "1234", device.root), "the twin: it would have opened")
        #expect(try device.change(from: "1234", to: "5678") == .right)
        #expect(try !opens(old, "1234", device.root))
        let new = try #require(try stateFile.load())
        #expect(try opens(new, "5678", device.root))
        #expect(try device.change(from: "5678", to: "") == .right)
        #expect(try !opens(new, "5678", device.root))
        device.turnOff()
        #expect(try indices().count == 1, "the counter alone")
    }

    @Test(
        "DEC-060: of a change that fails, and of a guess, nothing stays in the TPM, also where the process ends in between"
    )
    func leftoverGates() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        for _ in 1...3 { #expect(try device.change(from: "0001", to: "5678") == .wrong) }
        device.turnOff()
        #expect(try indices().count == 2, "the counter and the gate")
        try device.boot()
        // The TPM is away right after it made the new gate, for as long as the device is on.
        let isCut = Mutex(false)
        relay.treat { command, _ in
            isCut.withLock { isCut in
                defer { isCut = isCut || command.code == Code.write }
                return isCut ? .cut : .passed
            }
        }
        #expect(try device.change(from: "1234", to: "5678") != .wrong)
        device.turnOff()
        #expect(try indices().count == 3, "the twin: something is left")
        relay.treat { _, _ in .passed }
        try device.boot()
        #expect(try device.unlock("5678") == .right || device.unlock("1234") == .right)
        device.turnOff()
        #expect(try indices().count == 2)
    }

    @Test("Others' indices stay, and another device's, whatever is tidied")
    func othersIndices() throws {
        try tpm.tool("tpm2_nvdefine", "-C", "o", "-s", "32", "-a", "authread|authwrite", "0x1812345")
        let otherDirectory = try Directory()
        let other = try BoundDevice(in: otherDirectory.url, address: tpm.address)
        try other.boot()
        #expect(try other.change(from: "", to: "0000") == .right)
        other.turnOff()
        let before = try indices()
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        #expect(try device.change(from: "1234", to: "5678") == .right)
        device.turnOff()
        #expect(try indices().count == before.count + 2)
        try TPMRoot.forget(rootFile)
        #expect(try indices() == before)
        try other.boot()
        #expect(try other.unlock("0000") == .right)
    }

    @Test("A gate from before there were indices opens, and a change of its passcode makes a new one")
    func objectGate() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let passcode = try device.passcode
        let secret = try Sealed.open(
            try #require(passcode.gate?.recovery), with: device.recoveryKey.privateKey, PasscodeGate.recoveryPurpose)
        let value = try PasscodeDerivation(
            passcode: SecretBytes("1234".utf8), salt: passcode.salt, cost: passcode.cost, root: device.root
        ).run().derive("passcode gate")
        let key = try device.root.derive("device key", Data()).derive("state")
        device.turnOff()
        do {
            let object = try TPMConnection(TPMAddress(tpm.address), pinned: nil)
                .seal(secret, under: value, countsWrongValues: true)
            var state = try EnclaveStateFile.decode(try #require(try stateFile.load()), key: key)
            state.passcode?.gate?.closed = try JSONEncoder().encode(object)
            try stateFile.replace(EnclaveStateFile.encode(state, key: key))
        }
        try device.boot()
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.unlock("1234") == .right)
        #expect(try device.change(from: "1234", to: "5678") == .right)
        #expect(try #require(device.passcode.gate).closed.count < 40)
        try device.boot()
        #expect(try device.unlock("5678") == .right)
    }
}
