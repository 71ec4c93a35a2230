import Foundation
import GRDB
import Glibc
import Security
import Testing

@testable import TouchstoneKeychain

/// docs/storage-format.md: files, modes, and what can be read in them.
@Suite(.timeLimit(.minutes(10))) struct StoreFileTests {
    // MARK: modes

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber).intValue
    }

    @Test("A directory that others can enter is refused, a private one taken", arguments: [0o750, 0o705, 0o710, 0o777])
    func sharedDirectory(mode: Int) throws {
        let directory = try PrivateDirectory()
        let file = directory.url.appendingPathComponent("keychain.db")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory.url.path)
        #expect(throws: KeychainStoreError.self) { try KeychainStore(file: file) }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.url.path)
        _ = try KeychainStore(file: file)
    }

    @Test("A database that others can read is refused, a private one taken", arguments: [0o640, 0o604, 0o666])
    func sharedFile(mode: Int) throws {
        let directory = try PrivateDirectory()
        let file = directory.url.appendingPathComponent("keychain.db")
        _ = try KeychainStore(file: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        #expect(throws: KeychainStoreError.self) { try KeychainStore(file: file) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        _ = try KeychainStore(file: file)
    }

    @Test("The database and its log are this user's only, whatever the umask") func newFiles() throws {
        let device = try FileDevice()
        device.run { #expect(add(account("a")) == errSecSuccess) }
        for name in ["", "-wal", "-shm"] { #expect(try mode(device.database.path + name) == 0o600, "\(name)") }
    }

    // MARK: nothing in the clear

    /// The forms in which a value might lie in a file.
    private func forms(_ value: String) -> [(String, Data)] {
        let utf8 = Data(value.utf8)
        var forms = [("UTF-8", utf8)]
        for (name, encoding) in [("UTF-16LE", String.Encoding.utf16LittleEndian), ("UTF-16BE", .utf16BigEndian)] {
            forms.append((name, value.data(using: encoding) ?? Data()))
        }
        for offset in 0..<3 {
            // The part of the base64 text that depends on nothing around the value.
            let text = Data((Data(count: offset) + utf8).base64EncodedString().utf8)
            forms.append(("base64 at \(offset)", text.dropFirst(offset == 0 ? 0 : 4).dropLast(4)))
        }
        forms.append(("hexadecimal", Data(utf8.map { String(format: "%02x", $0) }.joined().utf8)))
        return forms
    }

    private func leaks(of values: [String], in directory: URL) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
        var leaks: [String] = []
        for case let file as URL in files {
            guard let bytes = try? Data(contentsOf: file) else { continue }
            for value in values {
                for (form, needle) in forms(value) where bytes.range(of: needle) != nil {
                    leaks.append("\(value) as \(form) in \(file.lastPathComponent)")
                }
            }
        }
        return leaks
    }

    @Test("KC-10: no attribute and no secret lies in any file, of items that are, were changed or were deleted")
    func noCanaries() throws {
        let device = try FileDevice()
        var values: [String] = []
        func canary(_ name: String) -> String {
            values.append("canary-\(name)-\(UUID().uuidString)")
            return values.last ?? ""
        }
        device.run {
            let item = generic([
                kSecAttrAccount: canary("acct"), kSecAttrService: canary("svce"), kSecAttrLabel: canary("labl"),
                kSecAttrGeneric: Data(canary("gena").utf8), kSecAttrDescription: canary("desc"),
                kSecAttrComment: canary("icmt"), kSecValueData: Data(canary("data").utf8),
            ])
            #expect(add(item) == errSecSuccess)
            let web = internet([
                kSecAttrServer: canary("srvr"), kSecAttrSecurityDomain: canary("sdmn"), kSecAttrPath: canary("path"),
                kSecAttrAuthenticationType: canary("atyp"), kSecAttrProtocol: canary("ptcl"),
                kSecAttrAccessible: kSecAttrAccessibleAlways, kSecValueData: Data(canary("inet").utf8),
            ])
            #expect(add(web) == errSecSuccess)
            let changes: Attributes = [kSecAttrLabel: canary("new"), kSecValueData: Data(canary("new data").utf8)]
            #expect(update(generic(), changes) == errSecSuccess)
            #expect(add(internet([kSecAttrServer: canary("gone"), kSecValueData: Data(canary("gone").utf8)])) == 0)
            #expect(delete(internet([kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])) == errSecSuccess)
            #expect(find(generic([kSecAttrAccount: canary("sought")])).status == errSecItemNotFound)
        }
        values.append(FileDevice.app.identifier.rawValue)
        #expect(values.count == 19)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: device.database.deletingLastPathComponent().path)
        #expect(Set(names) == ["keychain.db", "keychain.db-wal", "keychain.db-shm"])
        #expect(try leaks(of: values, in: device.files.url) == [])
        _ = try device.tamperer().writeWithoutTransaction { try $0.checkpoint(.truncate) }
        #expect(try leaks(of: values, in: device.files.url) == [])
    }

    @Test("The search for canaries finds each form of one that was planted") func plantedCanary() throws {
        let directory = try PrivateDirectory()
        let value = "canary-planted-value"
        for (index, (_, bytes)) in forms(value).enumerated() {
            try (Data([1, 2]) + bytes + Data([3])).write(to: directory.url.appendingPathComponent("\(index)"))
        }
        #expect(try leaks(of: [value], in: directory.url).count >= forms(value).count)
        #expect(try leaks(of: ["canary-another-value"], in: directory.url).isEmpty)
    }

    // MARK: all or nothing

    @Test("An aborted write leaves everything as it was") func abortedWrite() throws {
        let device = try FileDevice()
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let store = try KeychainStore(file: device.database)
        struct Abort: Error {}
        let filter = RowFilter(itemClass: .genericPassword, accessGroupTags: [], tags: [:])
        #expect(filter.tags.isEmpty)
        let row = try RawRow(0, in: device.tamperer())
        #expect(throws: Abort.self) {
            try store.write { writer in
                try writer.delete(rowID: 1)
                throw Abort()
            }
        }
        #expect(try RawRow(0, in: device.tamperer()).columns == row.columns)
        device.run { #expect(secret(account("a")) == "1") }
        try store.write { try $0.delete(rowID: 1) }
        device.run { #expect(read(account("a")) == errSecItemNotFound) }
    }

    @Test("A process that is killed in the middle of a write leaves everything as it was") func killedWriter()
        async throws
    {
        let device = try FileDevice()
        device.run { #expect(add(account("a").value("1")) == errSecSuccess) }
        let path = device.database.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try KeychainStore(file: URL(fileURLWithPath: path))
            try store.write { writer in
                try writer.delete(rowID: 1)
                kill(getpid(), SIGKILL)
            }
        }
        device.run {
            #expect(secret(account("a")) == "1")
            #expect(update(account("a"), [kSecValueData: Data("2".utf8)]) == errSecSuccess)
            #expect(secret(account("a")) == "2")
        }
        // What is on the disk is what the next daemon finds.
        let next = try KeychainStore(file: device.database)
        withExtendedLifetime(next) {}
    }

    @Test("A write that has returned is found by the next daemon") func durable() throws {
        let device = try FileDevice()
        try device.run {
            add(account("a").value("1"))
            let next = try FileDevice(device.files)
            try next.unlock()
            next.run { #expect(secret(account("a")) == "1") }
        }
    }

    @Test("A file that is no database is refused") func noDatabase() throws {
        let directory = try PrivateDirectory()
        let file = directory.url.appendingPathComponent("keychain.db")
        try Data(repeating: 0x41, count: 8192).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        #expect(throws: KeychainStoreError.self) { try KeychainStore(file: file) }
        #expect(try Data(contentsOf: file) == Data(repeating: 0x41, count: 8192))
    }
}
