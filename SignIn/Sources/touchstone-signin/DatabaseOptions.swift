import ArgumentParser
import Foundation
import TouchstoneSignInServer

/// Where the server keeps what it knows.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file (SQLite), or postgresql:CONNINFO for several servers on one database.",
            discussion: """
                CONNINFO is what libpq takes: postgresql:host=/run/postgresql dbname=signin. A password belongs in \
                ~/.pgpass or PGPASSFILE, not in an argument that others can read.
                """,
            valueName: "file|postgresql:…"))
    var database: String

    /// Whether other servers use it too.
    var isShared: Bool { database.hasPrefix("postgresql:") }

    func open() async throws -> any SignInStore {
        do {
            guard !isShared else { throw ProgramFailure("PostgreSQL is not in this build.") }
            return try SQLStore.sqlite(at: database)
        } catch StoreError.unavailable(let reason) {
            throw ProgramFailure("the database does not open: \(reason)")
        } catch StoreError.schema(let reason) {
            throw ProgramFailure(reason)
        }
    }
}
