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

/// What a TPM, or somebody on the way to it, may do to a device.
@Suite(.timeLimit(.minutes(10))) struct TPMRootTests {
    let directory: Directory
    let tpm: SoftwareTPM

    init() throws {
        directory = try Directory()
        tpm = try SoftwareTPM()
    }

    enum Code {
        static let createPrimary: UInt32 = 0x131
        static let startSession: UInt32 = 0x176
        static let define: UInt32 = 0x12A
        static let write: UInt32 = 0x137
        static let load: UInt32 = 0x157
        static let unseal: UInt32 = 0x15E
        static let increment: UInt32 = 0x134
        static let read: UInt32 = 0x14E
        static let capability: UInt32 = 0x17A
    }

    var rootFile: PrivateFile { PrivateFile(EnclaveFiles(directory.url).rootTPM) }
    var stateFile: PrivateFile { PrivateFile(EnclaveFiles(directory.url).state) }

    /// Tells the command that has the TPM look at a passcode: it reads an index that is not the counter.
    func guesses() throws -> @Sendable (Relay.Command) -> Bool {
        let counter = try TPMRootFile(rootFile).counter
        return { $0.code == Code.read && $0.index != counter }
    }

    func openError() -> TPMError.Code? {
        do {
            _ = try TPMRoot(rootFile)
            return nil
        } catch {
            return (error as? TPMError)?.code
        }
    }

    /// What the file says of the TPM's address, as when something else answers there now.
    func move(to address: String) throws {
        var file = try TPMRootFile(rootFile)
        file.address = address
        try rootFile.replace(file.encoded())
    }

    // MARK: what is heard

    @Test("Neither the passcode, nor what is derived from it, nor the root's secret, nor a gate's, is ever on the line")
    func capture() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "correct horse") == .right)
        #expect(try device.unlock("battery staple") == .wrong)
        #expect(try device.unlock("correct horse") == .right)
        let heard = relay.heard
        for code in [
            Code.createPrimary, Code.startSession, Code.define, Code.write, Code.load, Code.unseal, Code.increment,
            Code.read,
        ] {
            #expect(relay.codes.contains(code), "\(String(code, radix: 16)) was not heard")
        }
        let root = try #require(device.root as? TPMRoot)
        let passcode = try device.passcode
        let file = try TPMRootFile(rootFile)
        let secret = try Sealed.open(file.recovery, with: device.recoveryKey.privateKey, "io.touchstone root recovery")
        #expect(try root.derive("a", Data()).bytes == Self.hmac(secret, "a"), "this is the root's secret")
        let gateSecret = try Sealed.open(
            try #require(passcode.gate?.recovery), with: device.recoveryKey.privateKey, PasscodeGate.recoveryPurpose)
        let stretched = try PasscodeDerivation.argon2id(
            SecretBytes("correct horse".utf8), salt: passcode.salt, cost: passcode.cost)
        let ungated = try stretched.joined(with: root.derive("passcode", passcode.salt)).derive("passcode key")
        let secrets = [
            Data("correct horse".utf8), Data("battery staple".utf8), secret.bytes, gateSecret.bytes, stretched.bytes,
            ungated.bytes,
            ungated.derive("passcode gate").bytes, secret.derive("tpm counter").bytes,
            try root.derive("device key", Data()).bytes, device.recoveryKey.text.bytes,
        ]
        for (number, secret) in secrets.enumerated() {
            #expect(heard.range(of: secret) == nil, "secret \(number) was on the line")
        }
        // And it would have been found: what is no secret is there.
        #expect(heard.range(of: file.root.publicArea.dropFirst(2)) != nil)
    }

    private static func hmac(_ secret: SecretBytes, _ label: String) -> Data {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("io.touchstone root \(label.utf8.count) \(label)".utf8))
        return Data(code.finalize())
    }

    // MARK: another TPM, or the same with other seeds

    @Test("A cleared TPM is told from another one, and from none")
    func identities() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        #expect(openError() == nil)
        try tpm.tool("tpm2_clear")
        #expect(openError() == .cleared)
        let other = try SoftwareTPM()
        try move(to: other.address)
        #expect(openError() == .replaced)
        try move(to: "swtpm:path=\(tpm.socket).none")
        guard case .missing = openError() else { return #expect(Bool(false), "a TPM that is not there") }
        for address in [
            "", "tabrmd:", "swtpm:path=relative", "device:", "swtpm:path=/\(String(repeating: "x", count: 107))",
        ] {
            try move(to: address)
            #expect(openError() == .badAddress, "\(address)")
        }
    }

    @Test(
        "A TPM whose owner has a password is refused; one whose endorsement has one serves, and a clear then looks like another TPM"
    )
    func passwords() throws {
        try tpm.tool("tpm2_changeauth", "-c", "endorsement", "secret")
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        #expect(openError() == nil)
        try tpm.tool("tpm2_changeauth", "-c", "owner", "secret")
        #expect(openError() == .ownerPassword)
        try tpm.tool("tpm2_clear")
        #expect(openError() == .replaced)
    }

    @Test("A primary key with another Name is refused before anything is sent that depends on it")
    func substitutedName() throws {
        try BoundDevice(in: directory.url, address: tpm.address).turnOff()
        let attacker = try SoftwareTPM()
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        try move(to: relay.address)
        let socket = attacker.socket
        relay.treat { command, _ in
            guard command.code == Code.createPrimary else { return .passed }
            return .answered { _ in Relay.ask(socket, command.bytes) }
        }
        let error = openError()
        #expect(error == .replaced || error == .cleared)
        #expect(relay.codes.contains(Code.createPrimary) && !relay.codes.contains(Code.startSession))
        relay.treat { _, _ in .passed }
        #expect(openError() == nil)
        // One bit of the key alone, with the Name that belongs to the right one.
        relay.treat { command, _ in
            guard command.code == Code.createPrimary else { return .passed }
            return .answered { answer in
                var changed = answer
                changed[70] ^= 1
                return changed
            }
        }
        #expect(openError() != nil)
        #expect(!relay.codes.contains(Code.startSession))
    }

    @Test(
        "An answer that was changed, or is an old one, is not believed",
        arguments: [Code.load, Code.unseal, Code.read, Code.increment])
    func changedAnswers(code: UInt32) throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        let device = try BoundDevice(in: directory.url, address: relay.address)
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        device.turnOff()
        let old = Mutex<[UInt8]?>(nil)
        for isOld in [false, true] {
            relay.treat { command, _ in
                guard command.code == code else { return .passed }
                return .answered { answer in
                    old.withLock { kept in
                        defer { kept = kept ?? answer }
                        if isOld, let kept { return kept }
                        var changed = answer
                        changed[changed.count - 1] ^= 1
                        return changed
                    }
                }
            }
            if code == Code.increment {
                // Looked at again over another session: it did count, whatever the answer was.
                let root = try TPMRoot(rootFile)
                let revision = try #require(try root.read())
                try root.advance(to: revision + 1)
                #expect(try root.read() == revision + 1)
            } else {
                #expect(throws: TPMError.self) { _ = try TPMRoot(rootFile).read() }
            }
            #expect(relay.codes.contains(code))
        }
        relay.treat { _, _ in .passed }
        _ = try TPMRoot(rootFile).read()
    }

    @Test("A TPM behind a socket is a program, whatever it says of itself")
    func vendor() throws {
        let relay = try Relay(to: tpm.socket)
        defer { relay.close() }
        try BoundDevice(in: directory.url, address: relay.address).turnOff()
        relay.treat { command, _ in
            // TPM2_PT_VENDOR_STRING_1 comes after TPM2_PT_MANUFACTURER.
            guard command.code == Code.capability, command.bytes[14..<18] == [0, 0, 0x01, 0x05] else { return .passed }
            return .answered { Array($0[..<31] + Array("SLB9".utf8) + $0[35...]) }
        }
        #expect(try TPMRoot(rootFile).kind == "swtpm")
    }
}
