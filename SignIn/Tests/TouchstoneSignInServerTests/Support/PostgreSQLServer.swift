import Foundation
import Synchronization

@testable import TouchstoneSignInServer

/// A real PostgreSQL in a folder of its own, on a Unix socket, with a password.
///
/// It ends and its folder goes with the test process, however that ends: a shell beside it waits for the end of a
/// pipe.
final class PostgreSQLServer: Sendable {
    /// One for the whole test process; each test has a database in it.
    static let shared = Result { try PostgreSQLServer() }

    struct Failure: Error, CustomStringConvertible { var description: String }

    let folder: String
    private let programs: String
    /// The shell's input: open for as long as this process lives.
    private let lifeline: Pipe
    private let answers: Pipe
    private let shell: Process
    private let databases = Mutex(0)

    init() throws {
        // Debian keeps them apart by version.
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        guard let version = versions.compactMap(Int.init).max() else {
            throw Failure(
                description: "PostgreSQL is missing: apt-get install postgresql-15, or script/install-packages signin")
        }
        programs = "/usr/lib/postgresql/\(version)/bin"
        // A socket's path has at most 107 bytes, whatever TMPDIR is.
        var template = Array("/tmp/touchstone-pg-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Failure(description: "no folder: errno \(errno)") }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let password = UUID().uuidString
        try Data(password.utf8).write(to: URL(filePath: "\(folder)/password"))
        for (name, secret) in [("passfile", password), ("wrong-passfile", "wrong")] {
            try Data("*:*:*:*:\(secret)\n".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
            guard unsafe chmod("\(folder)/\(name)", 0o600) == 0 else {
                throw Failure(description: "chmod: errno \(errno)")
            }
        }

        lifeline = Pipe()
        shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        let script = """
            as=
            if [ "$(id -u)" = 0 ]; then
                chown postgres "$2" "$2/password"
                as='setpriv --reuid=postgres --regid=postgres --init-groups'
            fi
            cd "$2"
            $as "$1/initdb" -D data -A scram-sha-256 -U touchstone --pwfile=password -E UTF8 --locale=C --no-sync \\
                >log 2>&1 && $as "$1/pg_ctl" -D data -l server.log -w -o "$3" start >>log 2>&1 && echo ready || echo failed
            while read -r _; do
                $as "$1/pg_ctl" -D data -l server.log -w -m immediate restart >>log 2>&1 && echo ready || echo failed
            done
            $as "$1/pg_ctl" -D data -m immediate stop >>log 2>&1
            rm -rf "$2"
            """
        shell.arguments = [
            "-c", script, "sh", programs, folder,
            "-c listen_addresses= -c unix_socket_directories=\(folder) -c max_connections=300 -c fsync=off",
        ]
        answers = Pipe()
        shell.standardInput = lifeline
        shell.standardOutput = answers
        try shell.run()
        try waitUntilReady()
    }

    /// As if the machine had lost power, and came back.
    func restart() throws {
        // By the shell: Foundation would wait for the new server, which has what it waits on.
        try lifeline.fileHandleForWriting.write(contentsOf: Data("restart\n".utf8))
        try waitUntilReady()
    }

    private func waitUntilReady() throws {
        guard String(decoding: answers.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("ready") else {
            let log = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
            throw Failure(description: "PostgreSQL does not start:\n\(log)")
        }
    }

    func target(_ database: String, passfile: String = "passfile") -> String {
        "host=\(folder) user=touchstone dbname=\(database) passfile=\(folder)/\(passfile)"
    }

    func makeDatabase(_ options: String = "") throws -> String {
        let name = databases.withLock { count in
            count += 1
            return "test\(count)"
        }
        let connection = try PostgreSQLConnection(target("postgres"))
        connection.limit = PostgreSQLConnection.migrationLimit
        try connection.simple("SET statement_timeout = 0; SET lock_timeout = 0")
        try connection.simple("CREATE DATABASE \(name) \(options)")
        return target(name)
    }

    func stop() {
        try? lifeline.fileHandleForWriting.close()
        shell.waitUntilExit()
    }
}
