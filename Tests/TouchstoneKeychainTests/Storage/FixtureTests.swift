import Foundation
import GRDB
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// What an earlier version wrote is opened by this one: `Fixtures/v1` was written by the first and is never written again.
///
/// A format that changes adds a directory, which `script/make-fixture` makes of the one before.
@Suite(.timeLimit(.minutes(10))) struct FixtureTests {
    private static let versions = ["v1", "v2", "v4"]
    /// Of the database's third version no file of a program's was kept: it is made of the second.
    private static let allVersions = versions + ["v3"]
    private static let files = ["enclave/root.key", "enclave/state", "keychain/keychain.db"]

    private static var directory: URL {
        Bundle.module.resourceURL?.appendingPathComponent("Fixtures") ?? URL(fileURLWithPath: "/")
    }

    /// A copy with the modes that version control does not keep.
    private func open(_ version: String) throws -> FileDevice {
        let copy = try PrivateDirectory()
        for directory in ["enclave", "keychain"] { _ = try copy.subdirectory(directory) }
        for file in Self.files {
            let bytes = try Data(contentsOf: Self.directory.appendingPathComponent("\(Self.source(version))/\(file)"))
            let path = copy.url.appendingPathComponent(file).path
            try #require(
                FileManager.default.createFile(atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
        }
        if version == "v3" {
            let queue = try DatabaseQueue(path: copy.url.appendingPathComponent("keychain/keychain.db").path)
            try KeychainStore.migrator.migrate(queue, upTo: "3")
            try queue.close()
        }
        return try FileDevice(copy)
    }

    /// The directory that the files of a version come from.
    private static func source(_ version: String) -> String { version == "v3" ? "v2" : version }

    @Test("There is a fixture of every version, and of no other") func fixtures() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path).filter {
            !$0.hasPrefix(".")
        }
        #expect(names.sorted() == Self.versions)
    }

    @Test("An earlier version's device opens and yields its items", arguments: allVersions) func opens(version: String)
        throws
    {
        let device = try open(version)
        try device.run {
            #expect(secret(account("always")) == "of always")
            for name in ["plain", "after", "passcode", "presence"] {
                #expect(read(account(name).silent) == errSecInteractionNotAllowed)
            }
            try device.unlock()
            for name in ["plain", "after", "always", "passcode"] { #expect(secret(account(name)) == "of \(name)") }
            let plain = try attributes(account("plain"))
            #expect(plain["svce"] as? String == "service")
            #expect(plain["labl"] as? String == "Étiquette")
            #expect(plain["gena"] as? Data == Data([0, 1, 255]))
            #expect(plain["crtr"] as? Int == 7)
            #expect(plain["invi"] as? Int == 1)
            #expect(plain["cdat"] as? Date == Date(timeIntervalSinceReferenceDate: 800_000_000))
            let web = internet([
                kSecAttrServer: "example.org", kSecAttrPort: 443, kSecAttrProtocol: kSecAttrProtocolHTTPS,
            ])
            #expect(secret(web) == "of the web")
            #expect(secret(account("cloud", [kSecAttrSynchronizable: true])) == "of cloud")
            #expect(find(account("empty").data).status == errSecSuccess)
            #expect(add(account("plain", [kSecAttrService: "service"])) == errSecDuplicateItem)
            let reference = try Data(
                contentsOf: Self.directory.appendingPathComponent("\(Self.source(version))/reference"))
            #expect(secret([kSecValuePersistentRef: reference]) == "of plain")
        }
    }

    @Test("An earlier version's protected items open to its finger and its passcode", arguments: allVersions)
    func opensProtected(version: String) throws {
        let device = try open(version)
        try device.run {
            try device.unlock()
            for name in ["presence", "set", "any"] {
                #expect(read(account(name).silent) == errSecInteractionNotAllowed)
                device.person.present([.match])
                #expect(secret(account(name)) == "of \(name)")
            }
            device.person.present([.passcode("1234")])
            #expect(secret(account("by passcode")) == "of by passcode")
        }
    }

    @Test("AC-10: the items of a device of version 4 are recorded already: one that is taken away is noticed")
    func takenAway() throws {
        let device = try open("v4")
        try device.unlock()
        func groups() throws -> Int? {
            try device.device.owner.call(BackupInterface.Check.self, .init(after: nil, repairs: false)).alteredGroups
        }
        #expect(try groups() == nil)
        try device.tamperer().write {
            try $0.execute(
                sql: "DELETE FROM item WHERE rowid = (SELECT min(rowid) FROM item WHERE guarded IS NOT NULL)")
        }
        #expect(try groups() == 1)
    }
}
