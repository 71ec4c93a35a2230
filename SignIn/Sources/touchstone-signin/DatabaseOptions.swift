import ArgumentParser
import Foundation
import TouchstoneSignInServer

/// Where the server keeps what it knows.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file (SQLite), or postgresql:SETTINGS for several servers on one database.",
            discussion: """
                Settings as libpq takes them, or its URL: "postgresql:host=/run/postgresql dbname=signin", \
                postgresql://signin@db.example.org/signin. A password belongs in ~/.pgpass or in the file that PGPASSFILE \
                names, not in an argument that others can read.
                """,
            valueName: "file|postgresql:…"))
    var database: String

    /// Whether other servers use it too.
    var isShared: Bool { database.hasPrefix("postgresql:") }

    func open() async throws -> any SignInStore {
        do {
            if database.hasPrefix("postgresql://") { return try await SQLStore.postgreSQL(database) }
            if isShared { return try await SQLStore.postgreSQL(String(database.dropFirst("postgresql:".count))) }
            return try SQLStore.sqlite(at: database)
        } catch StoreError.unavailable(let reason) {
            throw ProgramFailure("the database cannot be opened: \(reason)")
        } catch StoreError.schema(let reason) {
            throw ProgramFailure(reason)
        }
    }
}
