import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

/// Somebody on the way to a TPM, who hears everything and changes what the test says.
final class Relay: Sendable {
    struct Command {
        let bytes: [UInt8]
        /// `TPM2_CC`.
        var code: UInt32 { number(6) }
        /// The NV index that is read, written or counted.
        var index: UInt32? { bytes.count < 18 ? nil : number(14) }
        private func number(_ from: Int) -> UInt32 { bytes[from..<from + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }

    enum Treatment {
        case passed
        /// Not given to the TPM; the line is cut.
        case cut
        /// Done by the TPM; the line is cut before its answer.
        case cutAfter
        /// Given to the TPM once the test says so.
        case held(DispatchSemaphore)
        /// The answer is another.
        case answered(([UInt8]) -> [UInt8])
        /// Answered in the TPM's place, which hears nothing.
        case refused([UInt8])
    }

    private struct State {
        var heard: [[UInt8]] = []
        var commands: [Command] = []
        var treatment: @Sendable (Command, _ number: Int) -> Treatment = { _, _ in .passed }
    }

    private let state = Mutex(State())
    private let directory: URL
    private let listener: Int32
    let path: String
    var address: String { "swtpm:path=\(path)" }

    init(to tpm: String) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.appendingPathComponent("tpm").path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(Self.withAddress(path) { bind(listener, $0, $1) } == 0 && listen(listener, 8) == 0)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { [self] in serve(client, tpm) }
            }
        }
    }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        try? FileManager.default.removeItem(at: directory)
    }

    /// Everything that went either way.
    var heard: Data { state.withLock { Data($0.heard.joined()) } }
    var commands: [Command] { state.withLock { $0.commands } }
    var codes: [UInt32] { commands.map(\.code) }

    /// Forgets what it heard; numbers commands from 1 on.
    func treat(_ treatment: @escaping @Sendable (Command, _ number: Int) -> Treatment) {
        state.withLock { $0 = State(treatment: treatment) }
    }

    private func serve(_ client: Int32, _ tpm: String) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            Glibc.close(client)
            Glibc.close(server)
        }
        guard Self.withAddress(tpm, { connect(server, $0, $1) }) == 0 else { return }
        while let bytes = Self.message(client) {
            let command = Command(bytes: bytes)
            let treatment = state.withLock { state in
                state.heard.append(bytes)
                state.commands.append(command)
                return state.treatment(command, state.commands.count)
            }
            switch treatment {
            case .cut: return
            case .held(let signal): signal.wait()
            case .refused(let answer):
                guard Self.send(answer, client) else { return }
                continue
            default: break
            }
            guard Self.send(bytes, server), var answer = Self.message(server) else { return }
            state.withLock { $0.heard.append(answer) }
            if case .cutAfter = treatment { return }
            if case .answered(let change) = treatment { answer = change(answer) }
            guard Self.send(answer, client) else { return }
        }
    }

    /// What another TPM answers.
    static func ask(_ tpm: String, _ command: [UInt8]) -> [UInt8] {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(server) }
        guard withAddress(tpm, { connect(server, $0, $1) }) == 0, send(command, server) else { return [] }
        return message(server) ?? []
    }

    /// Whether somebody takes connections at `path`.
    static func isListened(_ path: String) -> Bool {
        let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(client) }
        return withAddress(path) { connect(client, $0, $1) } == 0
    }

    private static func message(_ descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < 10 || bytes.count < bytes[2..<6].reduce(0, { $0 << 8 | Int($1) }) {
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            bytes += chunk.prefix(count)
        }
        return bytes
    }

    private static func send(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}
