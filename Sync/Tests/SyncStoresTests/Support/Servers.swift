import Foundation
import FoundationNetworking

@testable import SyncStores

/// A real PostgreSQL and a local S3 server, by Tests/Scripts/sync_servers.py.
///
/// They end with the test process, however that ends, because they read its pipe.
final class Servers: Sendable {
    /// For the whole test process; each test has a database or a bucket.
    static let shared = Result { try Servers() }

    struct Addresses: Decodable {
        var port: Int
        /// Of a server whose certificate is its own.
        var tls: Int
        var password: String
        var key: String
        var secret: String
        var region: String
    }

    let addresses: Addresses
    private let helper: Helper

    init() throws {
        helper = try Helper("sync_servers.py")
        addresses = try helper.answer()
    }

    /// A new database's address.
    func database() throws -> String { try helper.ask("database") }

    /// As after a loss of power.
    func restart() throws { _ = try helper.ask("restart", String.self) }

    func query(_ database: String, _ statement: String) throws -> [String] {
        try helper.ask("query \(database) \(statement)")
    }

    /// Makes the bucket if it is new, and says which faults it has: JSON.
    ///
    /// - Returns: How many requests and bytes it had.
    @discardableResult func bucket(_ name: String, _ faults: String = "{}") async throws -> [String: Int] {
        try await control(name, "POST", Data(faults.utf8))
    }

    func counts(_ bucket: String) async throws -> [String: Int] { try await control(bucket, "GET", nil) }

    private func control(_ name: String, _ method: String, _ body: Data?) async throws -> [String: Int] {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(addresses.port)/-/\(name)")!)
        request.httpMethod = method
        request.httpBody = body
        let (answer, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            throw Helper.Failure(description: "bucket \(name): \(String(decoding: answer, as: UTF8.self))")
        }
        return try JSONDecoder().decode([String: Int].self, from: answer)
    }
}

/// A database of its own.
struct PostgreSQLBench: StoreBench {
    let servers: Servers
    let address: String

    init(_ servers: Servers? = nil) throws {
        self.servers = try servers ?? Servers.shared.get()
        address = try self.servers.database()
    }

    func store(circle: String) throws -> any SyncStore {
        try store(circle: circle, password: servers.addresses.password)
    }

    func store(circle: String = "family", password: String) throws -> PostgreSQLStore {
        try PostgreSQLStore(address: address, password: StoreSecret(password.utf8), circle: circle)
    }

    /// A connection of the tests' own.
    func connection() throws -> PostgreSQLConnection {
        try PostgreSQLConnection(PostgreSQLAddress(address), password: StoreSecret(servers.addresses.password.utf8))
    }
}

/// A bucket of its own.
struct ObjectStoreBench: StoreBench {
    let servers: Servers
    let bucket: String

    init(_ faults: String = "{}") async throws {
        servers = try Servers.shared.get()
        bucket = "test-\(UUID().uuidString.lowercased())"
        try await servers.bucket(bucket, faults)
    }

    var address: String {
        "http://127.0.0.1:\(servers.addresses.port)/\(bucket)/keychains?region=\(servers.addresses.region)"
    }

    func store(circle: String) throws -> any SyncStore { try store(circle: circle, ahead: 0) }

    func store(circle: String = "family", ahead: TimeInterval, secret: String? = nil) throws -> ObjectStore {
        try ObjectStore(
            address: address, keyID: servers.addresses.key,
            secret: StoreSecret((secret ?? servers.addresses.secret).utf8), circle: circle
        ) { Date() + ahead }
    }
}
