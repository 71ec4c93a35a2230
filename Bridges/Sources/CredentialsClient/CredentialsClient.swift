import CTouchstoneSystem
public import CredentialProtocol
import Foundation
import Glibc

/// A helper's way to `touchstone-credentials`.
public enum CredentialsClient {
    /// Where it listens: `TOUCHSTONE_CREDENTIALS`, else the socket of the system's service, else the one of the user's own.
    public static var path: String {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["TOUCHSTONE_CREDENTIALS"], !path.isEmpty { return path }
        let system = "/run/touchstone/\(getuid())/credentials.sock"
        guard unsafe access(system, F_OK) != 0, let runtime = environment["XDG_RUNTIME_DIR"], !runtime.isEmpty else {
            return system
        }
        return "\(runtime)/touchstone/credentials.sock"
    }

    /// Calls a method, over a connection of its own.
    ///
    /// It waits for the owner where the owner is asked. Before it reads the answer it closes this process to the user's other programs
    /// (EX-5). What calls after that is not known to `touchstone-credentials` any more: one call for one process.
    ///
    /// - Parameters:
    ///   - method: Without its interface.
    ///   - parameters: What it takes.
    ///   - answersSecrets: Whether there may be one in the answer. Without one this process stays open, and may call again.
    /// - Returns: What it answers.
    /// - Throws: `CredentialMessages.Failure`; `.unavailable` also where nobody listens.
    public static func call(
        _ method: String, _ parameters: CredentialMessages.Parameters, answersSecrets: Bool = true
    ) throws(CredentialMessages.Failure) -> CredentialMessages.Results {
        guard let request = try? JSONEncoder().encode(CredentialMessages.Call(method, parameters)),
            request.count < CredentialMessages.maximumCount
        else { throw .invalid }
        let connection = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard connection >= 0, connect(connection) else { throw .unavailable }
        defer { close(connection) }
        guard send(request + [0], connection), waitForAnswer(connection),
            !answersSecrets || touchstone_become_undumpable(), let answer = receive(connection),
            let reply = try? JSONDecoder().decode(CredentialMessages.Reply.self, from: answer)
        else { throw .unavailable }
        if reply.error != nil { throw reply.parameters.result ?? .invalid }
        return reply.parameters
    }

    private static func connect(_ connection: Int32) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count <= 107 else { return false }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(connection, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    private static func send(_ data: Data, _ connection: Int32) -> Bool {
        var sent = 0
        while sent < data.count {
            let count = unsafe data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Int in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[sent...])
                return unsafe Glibc.send(connection, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Until there is an answer to read.
    ///
    /// Until it is read, none of its secrets is in the memory of this process. So far touchstone-credentials had to see what it executes.
    private static func waitForAnswer(_ connection: Int32) -> Bool {
        var state = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&state, 1, -1)
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    /// One message without its NUL.
    ///
    /// The longest answer holds as many secrets as a call may open.
    private static func receive(_ connection: Int32) -> Data? {
        var answer = Data()
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while answer.count <= 96 << 20 {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe recv(connection, $0.baseAddress, $0.count, 0) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            answer.append(contentsOf: chunk[..<count])
            if chunk[count - 1] == 0 { return answer.dropLast() }
        }
        return nil
    }
}

/// What each of these programs does with its own process.
public enum HelperProcess {
    /// All of standard input, up to one byte more than `longest`.
    public static func input(_ longest: Int) -> [UInt8] { (try? bytes(of: 0, longest)) ?? [] }

    /// All of what a descriptor gives, up to one byte more than `longest`.
    public static func bytes(of descriptor: Int32, _ longest: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while all.count <= longest {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            if count == 0 { break }
            all += chunk[..<count]
        }
        return all
    }

    /// Writes all of it; a reader that left ends the program.
    public static func write(_ bytes: [UInt8], to descriptor: Int32 = 1) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe Glibc.write(descriptor, all.baseAddress! + sent, all.count - sent)  // it has a byte at `sent`
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { exit(1) }
            sent += count
        }
    }

    /// Says one line on standard error.
    public static func complain(_ line: String) { write(Array("\(line)\n".utf8), to: 2) }

    /// No core dump has a secret.
    public static func leaveNoCore() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}
