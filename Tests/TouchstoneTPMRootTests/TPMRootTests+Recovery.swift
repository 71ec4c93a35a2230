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

/// How a device gets to another TPM, and what may be left behind in one.
extension TPMRootTests {
    // MARK: recovery

    @Test("The recovery key and the passcode bring a device to another TPM; a wrong one of either changes nothing")
    func recovery() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        let before = try device.root.derive("device key", Data()).bytes
        let other = try SoftwareTPM()
        func recover(_ key: RecoveryKey, _ passcode: String) throws {
            let state = try #require(try stateFile.load())
            try TPMRoot.recover(
                rootFile, recovering: PrivateFile(EnclaveFiles(directory.url).recoveringTPM), address: other.address,
                recoveryKey: key
            ) { root, revision in
                try stateFile.replace(
                    Enclave.recovered(
                        stateFile: state, root: root, recoveryKey: key.privateKey, passcode: SecretBytes(passcode.utf8),
                        revision: revision))
            }
        }
        device.turnOff()
        let files = try [stateFile.load(), rootFile.load()]
        #expect(throws: TPMError.self) { try recover(RecoveryKey(), "1234") }
        #expect(throws: RecoveryError.wrongPasscode) { try recover(device.recoveryKey, "4321") }
        #expect(try [stateFile.load(), rootFile.load()] == files)
        try recover(device.recoveryKey, "1234")
        tpm.turnOff()
        try device.boot()
        #expect(try device.root.derive("device key", Data()).bytes == before)
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.unlock("1234") == .right)
    }

    @Test("A recovery that is given up leaves nothing in the TPM; one that is cut off leaves what the next takes out")
    func cutRecovery() throws {
        let device = try BoundDevice(in: directory.url, address: tpm.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        try tpm.tool("tpm2_clear")
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let recovering = PrivateFile(EnclaveFiles(directory.url).recoveringTPM)
        struct GivenUp: Error {}
        func recover(_ body: () throws -> Void = {}) throws {
            let state = try stateFile.load() ?? Data()
            try TPMRoot.recover(
                rootFile, recovering: recovering, address: relay.address, recoveryKey: device.recoveryKey
            ) { root, revision in
                try body()
                let recovered = try Enclave.recovered(
                    stateFile: state, root: root, recoveryKey: device.recoveryKey.privateKey,
                    passcode: SecretBytes("1234".utf8), revision: revision)
                try stateFile.replace(recovered)
            }
        }
        // The process ends at the passcode: nothing of it could tidy up.
        #expect(throws: GivenUp.self) {
            try recover {
                relay.treat { _, _ in .cut }
                throw GivenUp()
            }
        }
        #expect(try indices().isEmpty)
        // The line goes right after the counter was made.
        relay.treat { _, _ in .passed }
        let isCut = Mutex(false)
        #expect(throws: TPMError.self) {
            try recover {
                relay.treat { command, _ in
                    isCut.withLock { isCut in
                        defer { isCut = isCut || command.code == Code.increment }
                        return isCut ? .cut : .passed
                    }
                }
            }
        }
        #expect(try indices().count == 2, "the twin: a counter and a gate are left")
        #expect(try recovering.load()?.isEmpty == false)
        relay.treat { _, _ in .passed }
        try recover()
        #expect(try indices().count == 2)
        #expect(try recovering.load()?.isEmpty == true)
        try device.boot()
        #expect(try device.unlock("1234") == .right)
    }

    @Test("What a crash left in a TPM that one program has at a time is taken out; in one that is shared it is others'")
    func leftovers() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        for (name, isShared) in [("tpm0", false), ("tpmrm0", true)] {
            let path = directory.url.appendingPathComponent(name).path
            let line = try CharacterDevice(at: path, to: tpm.socket)
            defer { line.close() }
            try move(to: "device:\(path)")
            #expect(openError() == nil)
            line.leaks = true
            for _ in 1...4 { _ = openError() }
            line.leaks = false
            if isShared {
                #expect(openError() == .busy)
                #expect(!line.codes.contains(CharacterDevice.flush), "others' objects must not be touched")
            } else {
                #expect(openError() == nil)
                #expect(line.codes.filter { $0 == CharacterDevice.flush }.count > 2, "more than the connection's own")
            }
        }
    }

    @Test("A recovery key's text: read back in any spelling, refused with a letter wrong, missing or too many")
    func recoveryText() throws {
        let key = RecoveryKey()
        let text = String(decoding: key.text.bytes, as: UTF8.self)
        #expect(text.count == 39 && text.split(separator: "-").allSatisfy { $0.count == 4 })
        for spelling in [
            text, text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""), text + "\r",
        ] {
            let read = try #require(RecoveryKey(text: SecretBytes(spelling.utf8)), "\(spelling.count)")
            #expect(try read.privateKey.rawRepresentation == key.privateKey.rawRepresentation)
        }
        for index in text.indices where text[index] != "-" {
            var wrong = text
            wrong.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(RecoveryKey(text: SecretBytes(wrong.utf8)) == nil)
        }
        for wrong in [
            "", String(text.dropLast()), text + "A", text.replacing("-", with: "_"), String(repeating: "0", count: 32),
        ] {
            #expect(RecoveryKey(text: SecretBytes(wrong.utf8)) == nil)
        }
    }
}
