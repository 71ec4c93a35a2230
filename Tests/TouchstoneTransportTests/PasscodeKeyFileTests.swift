import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneSystem
@testable import TouchstoneTransport

/// The enclave's public key, as apps and agents take it from the enclave's own file (DEC-005).
@Suite struct PasscodeKeyFileTests {
    private let directory: URL
    private let file: URL
    private let key = Data((0..<32).map { UInt8($0) })

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        file = directory.appendingPathComponent("passcode.pub")
    }

    private func write(_ bytes: Data, mode: Int = 0o600) throws {
        try bytes.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    private func failure() -> PasscodeKeyError? {
        do throws(PasscodeKeyError) {
            _ = try PasscodeKeyFile(file).read()
            return nil
        } catch {
            return error
        }
    }

    private func remove() { try? FileManager.default.removeItem(at: directory) }

    @Test("DEC-005: the key is the file's 32 bytes") func reads() throws {
        defer { remove() }
        for mode in [0o600, 0o400, 0o644] {
            try write(key, mode: mode)
            #expect(try PasscodeKeyFile(file).read() == key)
        }
    }

    @Test("DEC-005: a file that others could have written is no key", arguments: [0o620, 0o602, 0o666])
    func writableByOthers(mode: Int) throws {
        defer { remove() }
        try write(key, mode: mode)
        #expect(failure() == .writableByOthers)
    }

    @Test("A file that is missing, a link, a directory or a pipe, and one of another length, is no key") func others()
        throws
    {
        defer { remove() }
        #expect(failure() == .unreadable(ENOENT))
        for count in [0, 31, 33, 1 << 20] {
            try write(Data(count: count))
            #expect(failure() == .malformed)
        }
        try FileManager.default.removeItem(at: file)
        let elsewhere = directory.appendingPathComponent("other")
        try key.write(to: elsewhere)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: elsewhere)
        #expect(failure() == .unreadable(ELOOP))
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(
            at: file, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        #expect(failure() == .malformed)
        try FileManager.default.removeItem(at: file)
        #expect(mkfifo(file.path, 0o600) == 0)
        #expect(failure() == .malformed, "and nobody waits for a pipe")
    }

    @Test("A socket whose device is not named has no key, nor has one whose device is not there") func endpoints() {
        defer { remove() }
        let endpoints: [any VarlinkEndpoint] = [
            SocketEndpoint(path: "/nowhere"), DeviceSocket(path: "/nowhere", device: "no-\(UUID().uuidString)"),
        ]
        for endpoint in endpoints {
            #expect(throws: PasscodeKeyError.unreadable(ENOENT)) { try endpoint.passcodeKey() }
        }
    }
}
