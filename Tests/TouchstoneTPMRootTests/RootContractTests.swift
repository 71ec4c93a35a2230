import Foundation
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem

@testable import TouchstoneEnclave
@testable import TouchstoneTPMRoot

/// What every root of trust does, whatever it is made of.
@Suite(.timeLimit(.minutes(10))) struct RootContractTests {
    /// A place for devices, and a TPM where the root is one.
    private struct Ground {
        let directory: Directory
        let tpm: SoftwareTPM?
        init(_ kind: BoundDevice.Kind) throws {
            directory = try Directory()
            tpm = kind == .tpm ? try SoftwareTPM() : nil
        }
        func device(_ name: String = "device") throws -> BoundDevice {
            let url = directory.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            return try BoundDevice(in: url, address: tpm?.address)
        }
    }

    @Test(
        "32 bytes: the same for the same label and input, also when opened again; others for any other",
        arguments: BoundDevice.Kind.allCases)
    func derives(kind: BoundDevice.Kind) throws {
        let ground = try Ground(kind)
        let device = try ground.device()
        let inputs = [("a", ""), ("a", "b"), ("ab", ""), ("b", "a"), ("", "ab")]
        func derived(_ root: any RootOfTrust) throws -> [Data] {
            try inputs.map { try root.derive($0.0, Data($0.1.utf8)).bytes }
        }
        let first = try derived(device.root)
        #expect(first.allSatisfy { $0.count == 32 } && Set(first).count == inputs.count)
        device.turnOff()
        #expect(try derived(BoundDevice.root(in: device.directory)) == first)
    }

    @Test("Two devices on one machine have nothing in common", arguments: BoundDevice.Kind.allCases)
    func others(kind: BoundDevice.Kind) throws {
        let ground = try Ground(kind)
        let secrets = try ["one", "other"].map { name in
            let device = try ground.device(name)
            defer { device.turnOff() }
            return try device.root.derive("a", Data()).bytes
        }
        #expect(secrets[0] != secrets[1])
    }

    @Test(
        "It is reported as what it is: only a root whose kind is software opens where its files were copied to",
        arguments: BoundDevice.Kind.allCases)
    func copies(kind: BoundDevice.Kind) throws {
        let ground = try Ground(kind)
        let device = try ground.device()
        let reported = try device.root.kind
        device.turnOff()
        #expect(reported == (kind == .tpm ? "swtpm" : "software"))
        let elsewhere = kind == .tpm ? try SoftwareTPM() : nil
        if let elsewhere {
            let file = PrivateFile(EnclaveFiles(device.directory).rootTPM)
            var kept = try TPMRootFile(file)
            kept.address = elsewhere.address
            try file.replace(kept.encoded())
        }
        #expect(((try? BoundDevice.root(in: device.directory)) != nil) == (reported == "software"))
    }

    @Test(
        "A root is never made over another, and one whose file is gone is said to be gone",
        arguments: BoundDevice.Kind.allCases)
    func files(kind: BoundDevice.Kind) throws {
        let ground = try Ground(kind)
        let device = try ground.device()
        let url = device.directory
        device.turnOff()
        #expect(throws: (any Error).self) { try BoundDevice(in: url, address: ground.tpm?.address) }
        _ = try BoundDevice.root(in: url)
        for file in [EnclaveFiles(url).rootTPM, EnclaveFiles(url).rootKey] {
            try? FileManager.default.removeItem(at: file)
        }
        #expect { try BoundDevice.root(in: url) } throws: { "\($0)".contains("is missing") }
    }

    @Test("Passcodes: set, wrong, right, changed and removed, across restarts", arguments: BoundDevice.Kind.allCases)
    func passcodes(kind: BoundDevice.Kind) throws {
        let ground = try Ground(kind)
        let device = try ground.device()
        try device.boot()
        #expect(try device.change(from: "", to: "1234") == .right)
        try device.boot()
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.failures == 1)
        #expect(try device.unlock("4321") == .wrong)
        #expect(try device.failures == 1, "PC-02: the same wrong one is counted once")
        #expect(try device.unlock("1234") == .right)
        #expect(try device.change(from: "1234", to: "5678") == .right)
        try device.boot()
        #expect(try device.unlock("1234") == .wrong)
        #expect(try device.unlock("5678") == .right)
        #expect(try device.change(from: "5678", to: "") == .right)
        try device.boot()
        #expect(try device.isPasscodeSet == false)
    }
}
