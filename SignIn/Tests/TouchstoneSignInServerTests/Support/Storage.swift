import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// What the contract holds for: each test has a database of its own.
enum Storage: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case sqlite
    case postgreSQL

    var testDescription: String { rawValue }

    /// `stores`: How many are opened on the one database, as so many processes would.
    func with(stores count: Int = 1, _ body: ([SQLStore]) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            try await withFolder { folder in
                let stores = try (0..<count).map { _ in try SQLStore.sqlite(at: folder + "/signin.sqlite") }
                try await body(stores)
                for store in stores { try await store.close() }
            }
        case .postgreSQL:
            let target = try PostgreSQLServer.shared.get().makeDatabase()
            var stores: [SQLStore] = []
            for _ in 0..<count {
                stores.append(try await SQLStore.postgreSQL(target, connections: 4, waitLimit: .seconds(30)))
            }
            try await body(stores)
            for store in stores { try await store.close() }
        }
    }

    func with(_ body: (SQLStore) async throws -> Void) async throws {
        try await with(stores: 1) { try await body($0[0]) }
    }
}

func withFolder(_ body: (String) async throws -> Void) async throws {
    // In memory, because a sync of a busy disk takes longer than SQLite waits for another's lock.
    let memory = URL(filePath: "/dev/shm")
    let base = FileManager.default.isWritableFile(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
    let folder = base.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
}

/// The caller's time; tests move it.
let now = Date(timeIntervalSince1970: 1_800_000_000.25)

func bytes(_ text: String, count: Int = 32) -> Data {
    Data((text.utf8 + Array(repeating: 0, count: count)).prefix(count))
}

extension StoredAccount {
    static func made(_ name: String) -> Self {
        Self(name: name, userHandle: bytes(name, count: 16), passwordHash: "$argon2id$\(name)", createdAt: now)
    }
}

extension StoredKey {
    static func made(_ id: String, of account: String, device: String, at time: Date = now) -> Self {
        Self(
            id: bytes(id), publicKey: Data(id.utf8), userHandle: bytes(account, count: 16),
            deviceID: bytes(device, count: 16),
            deviceName: "Device \(device)", counter: 0, registeredAt: time, lastUsedAt: nil, state: .active)
    }
}

extension StoredSession {
    static func made(_ id: String, key: String, of account: String, refresh: String) -> Self {
        Self(
            id: bytes(id, count: 16), keyID: bytes(key), userHandle: bytes(account, count: 16),
            sessionKey: "thumbprint",
            refreshHash: bytes(refresh), expiresAt: now + 3600)
    }
}

extension StoredUse {
    static func made(_ bucket: String, most: Int) -> Self { Self(bucket: bytes(bucket), window: 60, most: most) }
}

extension StoredChallenge {
    static func made(_ hash: String, key: String? = nil, expiresAt: Date = now + 60) -> Self {
        Self(hash: bytes(hash), purpose: .signIn, keyID: key.map { bytes($0) }, binding: nil, expiresAt: expiresAt)
    }
}

extension SQLStore {
    /// An account with its password session and its keys, each of a device of its own.
    func addAccount(_ name: String, keys: [String] = []) async throws {
        try await addAccount(.made(name))
        try await addPasswordSession(of: name)
        for key in keys { try await register(.made(key, of: name, device: "of \(key)"), of: name) }
    }

    func addPasswordSession(_ hash: String? = nil, of name: String) async throws {
        try await addPasswordSession(
            hash: bytes(hash ?? "password \(name)"), userHandle: bytes(name, count: 16),
            passwordHash: "$argon2id$\(name)", expiresAt: now + 300)
    }

    func takeChallenge(hash: Data) async throws -> StoredChallenge? {
        guard case .taken(let challenge, nil) = try await takeChallenge(hash: hash, keyID: nil, counting: [], at: now)
        else { return nil }
        return challenge
    }

    /// By a message of the key that has the next counter, at the time of the one before it.
    func addSession(_ session: StoredSession) async throws {
        let key = try await key(id: session.keyID)
        let isAdded = try await addSession(
            session, raisingCounterTo: (key?.counter ?? 0) + 1, at: key?.lastUsedAt ?? key?.registeredAt ?? now)
        guard isAdded else { throw StoreError.notActive }
    }

    func register(_ key: StoredKey, of name: String) async throws {
        try await register(key, passwordSession: bytes("password \(name)"))
    }
}

/// What `count` callers at once get, spread over the stores.
func atOnce<Answer: Sendable>(
    _ count: Int, _ stores: [SQLStore], _ body: @escaping @Sendable (SQLStore, Int) async throws -> Answer
) async throws -> [Answer] {
    try await withThrowingTaskGroup { group in
        for number in 0..<count { group.addTask { try await body(stores[number % stores.count], number) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
