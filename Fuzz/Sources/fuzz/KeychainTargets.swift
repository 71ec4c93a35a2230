import Crypto
import Foundation
import GRDB
import Glibc
import TouchstoneCore
import TouchstoneInterfaces

@testable import TouchstoneKeychain
@testable import TouchstoneTransport

/// Files on a file system in memory, as libFuzzer wants thousands of them a second.
private let directory: URL = {
    let url = URL(fileURLWithPath: "/dev/shm/touchstone-fuzz-\(getpid())")
    try? FileManager.default.createDirectory(
        at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: NSNumber(value: 0o700)])
    atexit { try? FileManager.default.removeItem(at: URL(fileURLWithPath: "/dev/shm/touchstone-fuzz-\(getpid())")) }
    return url
}()

private func salvage(_ bytes: Data) {
    let (log, file) = bytes.halves
    var rows = 0
    SalvagedRow.scan(file, log: log) { row in
        rows += 1
        hold(row.rowID > 0 && row.values.count >= 9, "a row that cannot be an item")
    }
}

/// A database as it may lie there: it is looked at, read as the service reads it, and mended.
private func readDatabase(_ bytes: Data) {
    let (log, file) = bytes.halves
    let folder = directory.appendingPathComponent("keychain")
    func clean() {
        for entry in (try? FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil))
            ?? []
        {
            try? FileManager.default.removeItem(at: entry)
        }
    }
    clean()
    defer { clean() }
    let errors: [any Error.Type] = [KeychainStoreError.self, DatabaseError.self]
    let privately: [FileAttributeKey: Any] = [.posixPermissions: NSNumber(value: 0o700)]
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: privately)
    let url = folder.appendingPathComponent("keychain.db")
    let mode: [FileAttributeKey: Any] = [.posixPermissions: NSNumber(value: 0o600)]
    _ = FileManager.default.createFile(atPath: url.path, contents: file, attributes: mode)
    if !log.isEmpty { _ = FileManager.default.createFile(atPath: url.path + "-wal", contents: log, attributes: mode) }
    _ = unlessRefused(errors) { try KeychainFile(url).problems() }
    _ = unlessRefused(errors) {
        let store = try KeychainStore(file: url)
        var last: Int64 = 0
        for _ in 0..<4 {
            let page = try store.page(after: last)
            guard let end = page.last?.rowID, end > last else { break }
            last = end
        }
        for itemClass in ItemClass.allCases {
            let filter = RowFilter(itemClass: itemClass, accessGroupTags: [Data(count: 16)], tags: [:])
            _ = try store.rows(try store.rowIDs(filter)[...], withSecrets: true)
        }
    }
    guard unlessRefused(errors, { try KeychainFile(url).repair() }) != nil else { return }
    hold((try? KeychainFile(url).problems()) == [], "a mended database is damaged")
}

/// A small database with items, and the pages of its table alone.
private func databases() throws -> [Data] {
    let url = directory.appendingPathComponent("seed.db")
    try? FileManager.default.removeItem(at: url)
    let queue = try DatabaseQueue(path: url.path)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA page_size = 512; VACUUM") }
    try KeychainStore.migrate(queue)
    try queue.write { database in
        for (number, size) in [20, 60, 900].enumerated() {
            try database.execute(
                sql: """
                    INSERT INTO item (class, identifier, version, pdmn, identity, metadata, wrappedKey, secret)
                    VALUES ('genp', ?, ?, 'ak', ?, ?, ?, ?)
                    """,
                arguments: [
                    Data(repeating: UInt8(number), count: 16), Data(count: 16),
                    Data(repeating: UInt8(number), count: 16),
                    Data(count: 80), Data(count: 60), Data(count: size),
                ])
        }
    }
    try queue.close()
    return [Data.halves(Data(), try Data(contentsOf: url))]
}

private func attributes(_ bytes: Data) {
    guard let attributes = ItemAttributes.decode(bytes) else { return }
    // A key of a length that no key of ours has is not written.
    guard attributes.keys.allSatisfy({ $0.rawValue.utf8.count < 256 }) else { return }
    hold(ItemAttributes.decode(ItemAttributes.encode(attributes)) == attributes, "attributes change")
}

private func records(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    if choice & 3 == 1 { return attributes(rest) }
    if choice & 3 == 2 {
        let binding = ItemCipher.Binding(
            itemClass: .genericPassword, identifier: ItemIdentifier(bytes: Data(count: 16)), version: Data(count: 16))
        let key = SymmetricKey(data: Data(count: 32))
        hold(
            ItemCipher.openMetadata(rest, classKey: MetadataKey(current: key), binding: binding) == nil,
            "somebody sealed without the key")
        hold(ItemCipher.openSecret(rest, key: key, binding: binding) == nil, "somebody sealed without the key")
        guard let sealed = try? ItemCipher.sealSecret(rest, key: key, binding: binding) else { broken("not sealed") }
        hold(ItemCipher.openSecret(sealed, key: key, binding: binding) == rest, "a secret changes")
        return
    }
    var stream = rest
    while let next = unlessRefused([BackupRecord.Malformed.self], { try BackupRecord.next(&stream) }) {
        switch next {
        case .partial: return
        case .unknown: continue
        case .record(let record):
            var again = record.encoded()
            guard case .record(let second)? = try? BackupRecord.next(&again), again.isEmpty else {
                broken("a record is written and not read")
            }
            hold(second.encoded() == record.encoded(), "a record changes")
        }
    }
}

private func query(_ bytes: Data) {
    guard let parameters = try? MessageDecoder.decode(KeychainInterface.CopyMatching.Parameters.self, from: bytes)
    else { return }
    let query = unlessRefused([Status.self, RefusedKey.self]) {
        try KeychainQuery(parameters.query, issuers: parameters.issuers)
    }
    hold(query?.limit.map { $0 > 0 } ?? true, "a limit of nothing")
}

let keychainTargets: [FuzzTarget] = [
    FuzzTarget(name: "salvage", maximumBytes: 48 << 10, run: salvage, seeds: databases),
    FuzzTarget(name: "database", maximumBytes: 48 << 10, run: readDatabase, seeds: databases),
    FuzzTarget(name: "records", run: records) {
        let record = BackupRecord(
            itemClass: .genericPassword, identifier: ItemIdentifier(bytes: Data(count: 16)), version: Data(count: 16),
            isSealed: false, attributes: Data(count: 5), wrappedKey: Data(count: 60), secret: Data("secret".utf8))
        var other = record
        other.secret = nil
        other.isSealed = true
        let all: [AttributeKey: AttributeValue] = [
            .account: .string("a"), .service: .data(Data([1])), .port: .number(-7),
            AttributeKey(rawValue: "real"): .real(0.5),
            .synchronizable: .boolean(true),
            .creationDate: .date(1),
            .accessControl: .accessControl(try AccessControl(protection: .whenUnlocked, flags: [])),
        ]
        return [
            Data([0]) + record.encoded() + other.encoded(), Data([1]) + ItemAttributes.encode(all),
            Data([2]) + Data(count: 90),
        ]
    },
    FuzzTarget(name: "query", run: query) {
        let dictionaries: [KeychainInterface.Dictionary] = [
            [
                .class: .string("genp"), .account: .string("a"), .service: .string("s"), .returnData: .boolean(true),
                .returnAttributes: .boolean(true), .matchLimit: .string("m_LimitAll"),
            ],
            [
                .class: .string("cert"), .matchIssuers: .boolean(true), .returnRef: .boolean(true),
                .subject: .data(Data([0x30, 0])),
            ],
            [
                .valuePersistentRef: .data(Data("genp".utf8) + Data(count: 16)),
                .useAuthenticationUI: .string("u_AuthUIS"),
            ],
            [
                .class: .string("inet"), .port: .number(80), .synchronizable: .synchronizableAny,
                .creationDate: .date(5),
                .matchSubjectContains: .string("x"),
            ],
            [
                .class: .string("keys"), .keyType: .string("73"),
                .accessControl: .accessControl(
                    try AccessControl(protection: .whenUnlocked, flags: [])), .valueData: .data(Data([1])),
            ],
        ]
        return try dictionaries.map {
            try JSONOutput.encode(
                KeychainInterface.CopyMatching.Parameters(query: $0, issuers: [Data([1])], context: nil))
        }
    },
]
