import Foundation
import Testing
import TouchstoneCore
import TouchstoneFileRoot

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// PC-34: an older state that is put back is refused for as long as the counter remembers.
@Suite(.timeLimit(.minutes(10))) struct RevisionTests {
    private enum Boundary: CaseIterable { case passcode, wrongPasscode, finger, removedFinger, nonMatch, erasure }

    private func cross(_ boundary: Boundary, _ enclave: RunningEnclave) throws {
        switch boundary {
        case .passcode: #expect(try enclave.change(from: "1234", to: "5678") == .right)
        case .wrongPasscode: try enclave.fail(1)
        case .finger: try enclave.host.change { now, _ in (try now.enroll("finger 2", sample: .finger(2)), []) }
        case .removedFinger: try enclave.host.change { now, _ in (try now.removeFinger("finger 1"), []) }
        case .nonMatch:
            #expect(try enclave.unlock("1234") == .right)
            try enclave.host.change { now, time in (try now.begin(.biometrics, now: time).context, []) }
            try enclave.host.touch(.stranger)
        case .erasure: try enclave.fail(10)
        }
    }

    @Test(
        "PC-34: after a change of passcode or fingers, a wrong guess and an erasure the state from before does not boot",
        arguments: Boundary.allCases)
    private func restored(boundary: Boundary) throws {
        let enclave = try RunningEnclave(erasesData: boundary == .erasure)
        let old = try #require(enclave.storage.versions.last)
        try cross(boundary, enclave)
        let new = try #require(enclave.storage.versions.last)
        try enclave.reboot()
        enclave.storage.restore(old)
        #expect(throws: EnclaveStateError.rolledBack) { try enclave.reboot() }
        // Refused, not made worse: the newest boots.
        enclave.storage.restore(new)
        try enclave.reboot()
        // What a software root cannot tell: the machine remembers nothing any more.
        enclave.storage.restore(old)
        enclave.counter.forget()
        try enclave.reboot()
    }

    @Test("A process that ends between the state and the counter boots again, and is not taken for an older one")
    func endedInBetween() throws {
        let enclave = try RunningEnclave()
        enclave.counter.fails = true
        try enclave.unlockAndLeave("9999")
        enclave.counter.fails = false
        let counted = try #require(enclave.storage.versions.last)
        try enclave.reboot()
        #expect(enclave.failures == 1, "counted on the disk, though it was never looked at")
        try enclave.fail(1)
        enclave.storage.restore(counted)
        #expect(throws: EnclaveStateError.rolledBack) { try enclave.reboot() }
    }

    @Test(
        "PC-34: a change is kept, and told as kept, where its number cannot be remembered; the owner hears of it once")
    func counterFails() throws {
        let enclave = try RunningEnclave()
        enclave.counter.fails = true
        #expect(try enclave.unlock("9999") == .wrong(retryAfter: nil))
        #expect(try enclave.unlock("1234") == .right)
        #expect(try enclave.change(from: "1234", to: "5678") == .right)
        #expect(enclave.reports.count == 1)
        enclave.counter.fails = false
        try enclave.reboot()
        #expect(try enclave.unlock("5678") == .right)
        let old = try #require(enclave.storage.versions.first)
        enclave.storage.restore(old)
        #expect(throws: EnclaveStateError.rolledBack) { try enclave.reboot() }
    }

    @Test("PC-34: a change that was not kept gives its number to no other state")
    func numbersAreNotReused() throws {
        let enclave = try RunningEnclave()
        enclave.storage.plan([.keptAndFailed])
        #expect(try enclave.unlock("9999") == .refused(.notKept))
        let unheard = try #require(enclave.storage.versions.last)
        try enclave.fail(1)
        enclave.storage.restore(unheard)
        #expect(throws: EnclaveStateError.rolledBack) { try enclave.reboot() }
    }

    @Test("A state from before there were revisions boots, and is refused once a newer one was there")
    func oldFile() throws {
        let enclave = try RunningEnclave()
        let old = try #require(enclave.storage.versions.first)
        #expect(!String(decoding: old, as: UTF8.self).contains("revision"))
        try enclave.fail(1)
        enclave.storage.restore(old)
        #expect(throws: EnclaveStateError.rolledBack) { try enclave.reboot() }
    }

    // MARK: the file

    private final class Directory {
        let url: URL
        init() throws {
            url = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        deinit { try? FileManager.default.removeItem(at: url) }
        var file: URL { url.appendingPathComponent("enclave.revision") }
    }

    @Test("The runtime directory's file remembers the last number, for its owner alone")
    func file() throws {
        let directory = try Directory()
        let counter = try RevisionFile(directory.file, root: TestRoot())
        #expect(try counter.read() == nil)
        for revision in [0, 1, 41, UInt64.max] {
            try counter.advance(to: revision)
            #expect(try counter.read() == revision)
            #expect(try RevisionFile(directory.file, root: TestRoot()).read() == revision)
        }
        let mode = try FileManager.default.attributesOfItem(atPath: directory.file.path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
    }

    @Test("Another device's file, a changed number and no text at all are as good as none")
    func foreignFile() throws {
        let directory = try Directory()
        let counter = try RevisionFile(directory.file, root: TestRoot())
        try counter.advance(to: 7)
        #expect(try RevisionFile(directory.file, root: TestRoot(2)).read() == nil)
        let text = try String(contentsOf: directory.file, encoding: .utf8)
        for other in [
            "9" + text.dropFirst(), "07" + text.dropFirst(), text + "x", "", "7", "-1 x", "99999999999999999999 x",
        ] {
            try PrivateFile(directory.file).replace(Data(other.utf8))
            #expect(try counter.read() == nil, "\(other)")
        }
        try PrivateFile(directory.file).replace(Data([0xFF, 0, 0x20, 0xFE]))
        #expect(try counter.read() == nil)
        try PrivateFile(directory.file).replace(Data(text.utf8))
        #expect(try counter.read() == 7)
    }

    @Test("PC-34: a code that differs in any one of its digits, the first or the last too, is as good as none")
    func wrongCode() throws {
        let directory = try Directory()
        let counter = try RevisionFile(directory.file, root: TestRoot())
        try counter.advance(to: 7)
        let line = Array(try String(contentsOf: directory.file, encoding: .utf8).utf8)
        let digits = line.indices.filter { $0 >= 2 && line[$0] != UInt8(ascii: "\n") }
        #expect(digits.count == 64)
        for index in digits {
            var changed = line
            changed[index] = changed[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            try PrivateFile(directory.file).replace(Data(changed))
            #expect(try counter.read() == nil, "digit \(index - 2)")
        }
        try PrivateFile(directory.file).replace(Data(line))
        #expect(try counter.read() == 7)
    }

    @Test("More than can be read back is not written, and what was there stays")
    func tooLarge() throws {
        let directory = try Directory()
        let file = PrivateFile(directory.file)
        try file.replace(Data(count: 1 << 20))
        #expect(throws: PrivateFileError.self) { try file.replace(Data(count: 1 << 20 + 1)) }
        #expect(try file.read()?.count == 1 << 20)
    }

    @Test("A file that others can write is refused")
    func openFile() throws {
        let directory = try Directory()
        let counter = try RevisionFile(directory.file, root: TestRoot())
        try counter.advance(to: 7)
        try FileManager.default.setAttributes([.posixPermissions: 0o622], ofItemAtPath: directory.file.path)
        #expect(throws: PrivateFileError.self) { try counter.read() }
    }
}
