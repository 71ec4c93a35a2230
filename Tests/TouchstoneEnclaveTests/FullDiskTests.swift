import Foundation
import Testing
import TouchstoneCore
import TouchstoneFileRoot

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// PC-01, PC-02: a full disk keeps nobody from entering the passcode, and gives nobody a guess that is not counted.
@Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    @Test("PC-01: on a full disk a wrong passcode is counted, and the right one unlocks")
    func guesses() throws {
        let enclave = try RunningEnclave()
        enclave.storage.fill(spares: 16)
        try enclave.fail(3)
        #expect(enclave.failures == 3)
        try enclave.reboot()
        #expect(enclave.failures == 3, "counted on the disk")
        if let seconds = enclave.retryAfter { enclave.clock.advance(by: seconds) }
        #expect(try enclave.unlock("1234") == .right)
        #expect(enclave.facts.isLocked == false)
        #expect(enclave.failures == 0)
    }

    @Test("PC-01: without anything set aside no guess is looked at on a full disk")
    func withoutReserve() throws {
        let enclave = try RunningEnclave()
        enclave.storage.fill(spares: 0)
        #expect(try enclave.unlock("1234") == .refused(.notKept))
        #expect(enclave.facts.isLocked)
        enclave.storage.empty()
        #expect(try enclave.unlock("1234") == .right)
    }

    @Test("PC-02: with Erase Data the tenth wrong passcode erases on a full disk, too") func erasure() throws {
        let enclave = try RunningEnclave(erasesData: true)
        try enclave.fail(9)
        enclave.storage.fill(spares: 16)
        try enclave.fail(1, beginningAt: 9)
        #expect(enclave.facts.wasErased || enclave.host.read { now, _ in now.state.erasure != nil })
        #expect(enclave.facts.isPasscodeSet == false)
    }

    @Test("What is no guess uses nothing of what was set aside") func others() throws {
        let enclave = try RunningEnclave()
        #expect(try enclave.unlock("1234") == .right)
        enclave.storage.fill(spares: 16)
        let before = enclave.storage.versions.count
        #expect(throws: EnclaveHost.NotKept.self) {
            try enclave.host.change { now, _ in (try now.enroll("finger 2", sample: .finger(2)), []) }
        }
        #expect(enclave.storage.versions.count == before)
    }

    @Test("The spares are there as they must be, and one that a crash left behind is made anew") func spares() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spares-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        let state = directory.appendingPathComponent("state")
        func sizes() throws -> [Int] {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.contains("spare") }.map {
                let path = directory.appendingPathComponent($0).path
                let facts = try FileManager.default.attributesOfItem(atPath: path)
                #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600)
                return (facts[.size] as? NSNumber)?.intValue ?? -1
            }
        }
        let file = ReservedFile(state, count: 4, bytes: 8192)
        #expect(file.refill())
        #expect(try sizes() == [8192, 8192, 8192, 8192])
        try file.replace(Data("one".utf8))
        try file.replaceWithReserve(Data("two".utf8), leaving: 0)
        #expect(try file.load() == Data("two".utf8))
        #expect(try sizes().count == 4)
        // As a process leaves it that is ended between the write and the new name.
        let cut = directory.appendingPathComponent(".state.spare-2")
        try Data("half a state".utf8).write(to: cut)
        #expect(ReservedFile(state, count: 4, bytes: 8192).refill())
        #expect(try sizes() == [8192, 8192, 8192, 8192])
        #expect(try file.load() == Data("two".utf8))
        // They are twice as large as a large state, and stay so.
        let large = Data(repeating: 1, count: 10_000)
        try file.replace(large)
        #expect(try sizes() == [24576, 24576, 24576, 24576])
        let again = ReservedFile(state, count: 4, bytes: 8192)
        #expect(try again.load() == large)
        #expect(again.refill())
        #expect(try sizes() == [24576, 24576, 24576, 24576])
        try again.replaceWithReserve(Data(repeating: 2, count: 30_000), leaving: 0)
        #expect(try sizes() == [65536, 65536, 65536, 65536])
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 5)
    }
}
