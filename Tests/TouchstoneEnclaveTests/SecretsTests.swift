import Foundation
import Glibc
import Testing
import TouchstoneEnclaveHost
import TouchstoneFileRoot
import TouchstoneMemory

@testable import TouchstoneEnclave

@Suite struct SecretsTests {
    @Test("Secret bytes describe their number and nothing else, however they are asked")
    func description() {
        let secret = SecretBytes(Data("hunter2!".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104"), "the first byte in decimal")
        }
        #expect("\(secret)" == "secret of 8 bytes")
    }

    @Test("Secret bytes are equal where all are, and only there")
    func equality() {
        let secret = SecretBytes([1, 2, 3])
        #expect(secret.isEqual(to: SecretBytes([1, 2, 3])))
        for other in [[1, 2, 4], [0, 2, 3], [1, 2], [1, 2, 3, 0], []] as [[UInt8]] {
            #expect(!secret.isEqual(to: SecretBytes(other)))
        }
    }

    @Test("What is sealed opens under the same key and context, and nowhere else")
    func sealing() throws {
        let (key, other) = (SecretBytes.random(count: 32), SecretBytes.random(count: 32))
        let sealed = try KernelRandomness().seal(SecretBytes([1, 2, 3]), under: key, context: Data([9]))
        #expect(try #require(key.open(sealed, context: Data([9]))).isEqual(to: SecretBytes([1, 2, 3])))
        #expect(other.open(sealed, context: Data([9])) == nil)
        #expect(key.open(sealed, context: Data()) == nil)
        #expect(key.open(Data(), context: Data([9])) == nil)
        #expect(!key.derive("a").isEqual(to: key.derive("b")))
    }

    // By a clock of the test's: a busy machine makes the probes of a real one differ by half. `make bench` shows what a guess takes.
    @Test("PC-04: a machine whose pass takes 2.5 to 250 ms of its processor spends 80 to 250 ms on a guess")
    func passes() {
        for tenths in 25...2500 {
            let pass = Double(tenths) / 10_000
            let guess = pass * Double(PasscodeCost.operations(probeTook: pass))
            #expect((0.08...0.25).contains(guess), "\(guess) s, at \(pass) s for a pass")
        }
        #expect(PasscodeCost.operations(probeTook: 0) == 64)
        #expect(PasscodeCost.operations(probeTook: 3) == 1)
    }

    @Test("PC-04: the fastest of three probes, each with 64 MiB, says what a pass takes")
    func calibration() {
        var readings = [0, 0.07, 1, 1.05, 2, 2.11]
        let cost = PasscodeCost.calibrated { readings.removeFirst() }
        #expect(cost == PasscodeCost(operations: 3, memoryBytes: 64 << 20))
        #expect(readings.isEmpty)
    }

    @Test("PC-04: passcode keys depend on the passcode, the salt, the cost and the root of trust")
    func derivation() throws {
        func key(_ passcode: String, salt: UInt8 = 1, operations: UInt64 = 1, root: UInt8 = 1) throws -> SecretBytes {
            try PasscodeDerivation(
                passcode: SecretBytes(Data(passcode.utf8)), salt: Data(repeating: salt, count: 16),
                cost: .init(operations: operations, memoryBytes: 8192), root: TestRoot(root)
            ).run()
        }
        let first = try key("1234")
        #expect(first.isEqual(to: try key("1234")))
        for other in [
            try key("1235"), try key("1234", salt: 2), try key("1234", operations: 2), try key("1234", root: 2),
        ] {
            #expect(!first.isEqual(to: other))
        }
    }
}

@Suite struct FileRootTests {
    /// A directory of its own for each test, as private as it has to be.
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    private var file: URL { directory.appendingPathComponent("root") }

    private func cleanUp() { try? FileManager.default.removeItem(at: directory) }

    @Test("A key file is made for its owner alone, and read back to the same key")
    func roundTrip() throws {
        defer { cleanUp() }
        try FileRoot.create(file)
        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let key = try FileRoot(file).derive("a", Data([1]))
        #expect(try FileRoot(file).derive("a", Data([1])).isEqual(to: key))
        #expect(try !FileRoot(file).derive("b", Data([1])).isEqual(to: key))
        #expect(try !FileRoot(file).derive("a", Data([2])).isEqual(to: key))
    }

    @Test("A key is never overwritten")
    func neverOverwritten() throws {
        defer { cleanUp() }
        try FileRoot.create(file)
        let before = try Data(contentsOf: file)
        #expect(throws: PrivateFileError.self) { try FileRoot.create(file) }
        #expect(try Data(contentsOf: file) == before)
    }

    @Test("A key file that others can read or write is refused", arguments: [0o640, 0o604, 0o620, 0o602, 0o610, 0o601])
    func readableByOthers(mode: mode_t) throws {
        defer { cleanUp() }
        try FileRoot.create(file)
        #expect(chmod(file.path, mode) == 0)
        #expect(throws: PrivateFileError.self) { try FileRoot(file) }
        #expect(chmod(file.path, 0o600) == 0)
        #expect(throws: Never.self) { try FileRoot(file) }
    }

    @Test("A key file in a directory that others can enter is refused", arguments: [0o750, 0o705, 0o711])
    func openDirectory(mode: mode_t) throws {
        defer { cleanUp() }
        try FileRoot.create(file)
        #expect(chmod(directory.path, mode) == 0)
        #expect(throws: PrivateFileError.self) { try FileRoot(file) }
        #expect(throws: PrivateFileError.self) { try PrivateFile(file).replace(Data()) }
    }

    @Test("A symbolic link is refused, for the file and for the directory")
    func symbolicLinks() throws {
        defer { cleanUp() }
        try FileRoot.create(file)
        let link = directory.appendingPathComponent("link")
        #expect(symlink(file.path, link.path) == 0)
        #expect(throws: PrivateFileError.self) { try FileRoot(link) }
        let other = directory.appendingPathComponent("directory")
        #expect(symlink(directory.path, other.path) == 0)
        #expect(throws: PrivateFileError.self) { try FileRoot(other.appendingPathComponent("root")) }
    }

    @Test("A missing, short, long or huge key file is refused", arguments: [nil, 0, 31, 33, 2 << 20] as [Int?])
    func otherLength(count: Int?) throws {
        defer { cleanUp() }
        if let count {
            try Data(count: count).write(to: file)
            #expect(chmod(file.path, 0o600) == 0)
        }
        #expect(throws: PrivateFileError.self) { try FileRoot(file) }
    }

    @Test("An error names the file and never what is in it")
    func errorText() throws {
        defer { cleanUp() }
        try Data("hunter2".utf8).write(to: file)
        #expect(chmod(file.path, 0o600) == 0)
        let error = #expect(throws: PrivateFileError.self) { try FileRoot(file) }
        #expect(error?.description.contains(file.path) == true)
        #expect(error?.description.contains("hunter2") == false)
    }
}
