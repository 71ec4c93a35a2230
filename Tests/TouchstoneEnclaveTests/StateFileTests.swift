import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveHost
import TouchstoneFileRoot
import TouchstoneMemory

@testable import TouchstoneEnclave

@Suite struct StateFileTests {
    @Test("What is written is read: passcode, fingers, failures")
    func roundTrip() throws {
        var enclave = try Enclave.device(fingers: 2)
        _ = try enclave.begin(.biometrics)
        _ = enclave.touch(.stranger, now: 0)
        let restarted = try enclave.restarted()
        #expect(restarted.state == enclave.state)
        #expect(restarted.state.biometryFailures == 1)
        #expect(restarted.state.templates.map(\.name) == ["finger 1", "finger 2"])
        #expect(restarted.isLocked)
    }

    @Test("No file is told apart from a broken one")
    func missing() {
        #expect(throws: EnclaveStateError.missing) { try Enclave(stateFile: nil, root: TestRoot(), now: 0) }
        #expect(throws: EnclaveStateError.corrupt) { try Enclave(stateFile: Data(), root: TestRoot(), now: 0) }
    }

    @Test("A changed byte anywhere, and a missing end, are corrupt")
    func tampering() throws {
        let root = TestRoot()
        let file = try Enclave.device().stateFile()
        for index in file.indices {
            var changed = file
            changed[index] ^= 1
            #expect("byte \(index)") {
                try Enclave(stateFile: changed, root: root, now: 0)
            } throws: { error in
                // The version stands before the code: a larger one reads as newer, and is refused all the same.
                switch error as? EnclaveStateError {
                case .corrupt: true
                case .newer: index < 30
                default: false
                }
            }
        }
        for count in stride(from: 0, to: file.count, by: 7) {
            #expect(throws: EnclaveStateError.corrupt) {
                try Enclave(stateFile: file.prefix(count), root: root, now: 0)
            }
        }
        #expect(throws: EnclaveStateError.corrupt) { try Enclave(stateFile: file + Data([0x20]), root: root, now: 0) }
        #expect(throws: Never.self) { try Enclave(stateFile: file, root: root, now: 0) }
    }

    @Test("A file put together anew without the key is corrupt, also where its code is empty or in capitals")
    func forged() throws {
        let file = try Enclave.device().stateFile()
        let lines = file.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
        let code = HMAC<SHA256>.authenticationCode(for: lines[2], using: SymmetricKey(data: Data(count: 32)))
        let hex = Data(code.map { String(format: "%02x", $0) }.joined().utf8)
        for forged in [hex, Data(), Data("zz".utf8)] {
            let body = [Data(lines[0]), forged, Data(lines[2])].joined(separator: Data("\n".utf8))
            #expect(throws: EnclaveStateError.corrupt) {
                try Enclave(stateFile: Data(body), root: TestRoot(), now: 0)
            }
        }
    }

    @Test("Another device's root opens nothing")
    func otherRoot() throws {
        let file = try Enclave.device(root: TestRoot(1)).stateFile()
        #expect(throws: EnclaveStateError.corrupt) { try Enclave(stateFile: file, root: TestRoot(2), now: 0) }
        #expect(throws: Never.self) { try Enclave(stateFile: file, root: TestRoot(1), now: 0) }
    }

    @Test("A file of a newer version is told as such")
    func newerVersion() throws {
        let file = try Enclave.device().stateFile()
        let text = String(decoding: file, as: UTF8.self)
        let newer = text.replacingOccurrences(of: "touchstone-enclave-state 2\n", with: "touchstone-enclave-state 3\n")
        #expect(newer != text)
        #expect(throws: EnclaveStateError.newer(3)) {
            try Enclave(stateFile: Data(newer.utf8), root: TestRoot(), now: 0)
        }
    }

    @Test("The file holds no passcode and no class key in the clear")
    func nothingInTheClear() throws {
        let enclave = try Enclave.device(passcode: "correct horse")
        let file = try enclave.stateFile()
        #expect(file.range(of: Data("correct horse".utf8)) == nil)
        let text = String(decoding: file, as: UTF8.self)
        for protection in Accessibility.allCases {
            let key = try #require(enclave.keys[protection]).unprotectedCopy
            #expect(file.range(of: key) == nil)
            #expect(!text.contains(key.base64EncodedString()))
        }
    }

    @Test("EV-71, PC-32: what a finger looks like is in no file and no answer")
    func noTemplates() throws {
        var enclave = try Enclave.device(fingers: 0)
        let sample = Data("loops and whorls of a finger".utf8)
        try enclave.enroll("left", sample: Sample(sample))
        let file = try enclave.stateFile()
        #expect(file.range(of: sample) == nil)
        #expect(!String(decoding: file, as: UTF8.self).contains(sample.base64EncodedString()))
        #expect(enclave.state.templates.map(\.digest) != [sample])
        #expect(enclave.touch(Sample(sample), now: 0).0 == .notWaiting, "it is known all the same")
    }

    @Test("What version 1 wrote still opens: fingers, passcode, and a wrapped key")
    func fixture() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: directory) }
        let rootFile = directory.appendingPathComponent("root")
        try Self.fixture("enclave-state-1.root").write(to: rootFile)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: rootFile.path)

        var enclave = try Enclave(
            stateFile: Self.fixture("enclave-state-1"), root: FileRoot(rootFile), now: 0)
        #expect(enclave.state.templates.map(\.name) == ["finger 1", "finger 2"])
        let item = Enclave.WrappedItem(
            wrappedKey: try Self.fixture("enclave-state-1.item"),
            binding: .init(accessGroup: "group", item: Data("item".utf8)))
        #expect(enclave.unwrap(item, app: "app", context: nil).state == .locked)
        #expect(try enclave.unlock("1234"))
        #expect(enclave.unwrap(item, app: "group", context: nil).state == .authenticationNeeded)
        let context = try enclave.proven(.biometrics, app: "group")
        #expect(enclave.unwrap(item, app: "group", context: context).key == Data(0..<32))
        #expect(enclave.unwrap(item, app: "group", context: context).rewrappedKey == nil)
        #expect(enclave.domainState(app: "app") == (try Self.fixture("enclave-state-1.domain")))
        // KC-14: and goes on to, after the passcode was changed and the device restarted.
        #expect(try enclave.changePasscode(from: "1234", to: "5678"))
        enclave = try enclave.restarted()
        #expect(try enclave.unlock("5678"))
        let later = try enclave.proven(.biometrics, app: "group")
        let opened = enclave.unwrap(item, app: "group", context: later)
        #expect(opened.key == Data(0..<32))
        let rewrapped = Enclave.WrappedItem(
            wrappedKey: try #require(opened.rewrappedKey), binding: item.binding)
        #expect(enclave.unwrap(rewrapped, app: "group", context: later).key == Data(0..<32))
    }

    /// Written once, by version 1, and never again: that today's code opens them is the test.
    static func fixture(_ name: String) throws -> Data {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil))
        return try Data(contentsOf: url)
    }

}
