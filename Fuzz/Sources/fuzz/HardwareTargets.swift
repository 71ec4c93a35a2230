import Foundation
import Glibc
import TouchstoneEnclave
import TouchstoneMemory

@testable import TouchstoneSensors
@testable import TouchstoneTPMRoot

/// A Unix socket at which somebody answers by a script: one connection after another, on a thread of its own.
private final class Impostor: @unchecked Sendable {
    // Unchecked: `answer` is set before a connection is made, and read by the thread that accepts it.
    let path: String
    private let descriptor: Int32
    private let lock = NSLock()
    private var answer: @Sendable (Int32) -> Void = { _ in }
    private let served = DispatchSemaphore(value: 0)

    init(_ name: String) {
        path = "/dev/shm/touchstone-fuzz-\(name)-\(getpid())"
        unlink(path)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        hold(isBound == 0 && listen(descriptor, 16) == 0, "no socket at \(path)")
        Thread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { continue }
                let answer = lock.withLock { self.answer }
                answer(connection)
                close(connection)
                served.signal()
            }
        }.start()
    }

    /// Runs `body`, in which one connection is made and closed.
    func serve(_ answer: @escaping @Sendable (Int32) -> Void, _ body: () -> Void) {
        lock.withLock { self.answer = answer }
        body()
        served.wait()
    }
}

private func give(_ connection: Int32, _ bytes: Data) {
    bytes.withUnsafeBytes { _ = send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
}

/// Reads until the other end closes.
private func drain(_ connection: Int32) {
    var bytes = [UInt8](repeating: 0, count: 4096)
    while recv(connection, &bytes, bytes.count, 0) > 0 {}
}

// MARK: D-Bus

private let bus = Impostor("bus")

/// One message of D-Bus, little-endian: a return, an error or a signal.
private func busMessage(
    _ type: UInt8, serial: UInt32, fields: [(UInt8, String, String)], answered: UInt32? = nil, signature: String,
    body: Data
) -> Data {
    func number(_ value: UInt32) -> Data { Data((0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }) }
    func padded(_ data: Data, _ size: Int) -> Data { data + Data(count: (size - data.count % size) % size) }
    var array = Data()
    func add(_ code: UInt8, _ type: String, _ value: Data) {
        array = padded(array, 8) + Data([code, UInt8(type.utf8.count)]) + Data(type.utf8) + Data([0])
        if type != "g" { array = padded(array, 4) }
        array += value
    }
    for (code, type, text) in fields { add(code, type, number(UInt32(text.utf8.count)) + Data(text.utf8) + Data([0])) }
    if let answered { add(5, "u", number(answered)) }
    if !signature.isEmpty { add(8, "g", Data([UInt8(signature.utf8.count)]) + Data(signature.utf8) + Data([0])) }
    let head =
        Data([UInt8(ascii: "l"), type, 0, 1]) + number(UInt32(body.count)) + number(serial)
        + number(UInt32(array.count))
    return padded(head + array, 8) + body
}

private func busText(_ text: String) -> Data {
    var data =
        Data((0..<4).map { UInt8(truncatingIfNeeded: text.utf8.count >> (8 * $0)) }) + Data(text.utf8) + Data([0])
    data += Data(count: (4 - data.count % 4) % 4)
    return data
}

private let driver = "org.freedesktop.DBus"
private let greeting = Data("OK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n".utf8)
private let hello = busMessage(
    2, serial: 1, fields: [(7, "s", driver), (6, "s", ":1.5")], answered: 1, signature: "s", body: busText(":1.5"))

/// What a bus, and whoever is on it, may say: after the greeting that it takes to be heard, or from the first byte on.
private func readBus(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    bus.serve({ connection in
        give(connection, choice & 1 == 0 ? greeting + hello + rest : rest)
        shutdown(connection, Int32(SHUT_WR))
        drain(connection)
    }) {
        let errors: [any Error.Type] = [MessageBus.Failure.self]
        guard
            let bus = unlessRefused(
                errors, { try MessageBus(path: bus.path, takesDescriptors: choice & 2 != 0, within: 5) })
        else { return }
        _ = unlessRefused(errors) { try bus.follow("net.reactivated.Fprint", within: 5) }
        let texts = unlessRefused(errors) {
            try bus.call(
                ":1.7", "/net/reactivated/Fprint/Manager", "net.reactivated.Fprint.Manager", "GetDefaultDevice",
                within: 5)
        }
        hold((texts ?? []).allSatisfy { $0.utf8.count <= 256 } && (texts ?? []).count <= 32, "more text than is read")
        if choice & 2 != 0 {
            if let descriptor = unlessRefused(
                errors, { try bus.callForDescriptor(":1.7", "/a", "b.c", "D", [], within: 5) })
            {
                close(descriptor)
            }
        }
        for signal in unlessRefused(errors, { try bus.takeSignals() }) ?? [] {
            hold(signal.texts.allSatisfy { $0.utf8.count <= 256 }, "a longer text than is read")
        }
    }
}

private func busSeeds() -> [Data] {
    let done = busMessage(2, serial: 2, fields: [(7, "s", driver)], answered: 2, signature: "", body: Data())
    let owner = busMessage(
        2, serial: 3, fields: [(7, "s", driver)], answered: 3, signature: "s", body: busText(":1.7"))
    let answer = busMessage(
        2, serial: 4, fields: [(7, "s", ":1.7")], answered: 4, signature: "o",
        body: busText("/net/reactivated/Fprint/Device/0"))
    let signal = busMessage(
        4, serial: 5,
        fields: [
            (1, "o", "/net/reactivated/Fprint/Device/0"), (2, "s", "net.reactivated.Fprint.Device"),
            (3, "s", "VerifyStatus"), (7, "s", ":1.7"),
        ],
        signature: "sb", body: busText("verify-match") + Data([1, 0, 0, 0]))
    let failure = busMessage(
        3, serial: 6, fields: [(4, "s", "net.reactivated.Fprint.Error.NoSuchDevice"), (7, "s", ":1.7")], answered: 4,
        signature: "s", body: busText("no"))
    return [
        Data([0]) + done + owner + signal + answer + signal, Data([0]) + done + owner + failure,
        Data([2]) + done + owner + answer,
        Data([1]) + greeting + hello + done, Data([1]) + Data("REJECTED EXTERNAL\r\n".utf8),
    ]
}

// MARK: TPM

/// In this program nobody pauses: a TPM that asks to be asked later would be asked twice a second.
@_cdecl("usleep")
func passOver(_ microseconds: UInt32) -> CInt { 0 }

private let tpm = Impostor("tpm")

/// What a TPM, or somebody on the way to it, may answer; each answer has its length before it, in two bytes.
private func readTPM(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    guard choice & 3 == 0 else { return readKept(choice, rest) }
    tpm.serve({ connection in
        var rest = rest[...]
        var command = [UInt8](repeating: 0, count: 4096)
        while rest.count >= 2, recv(connection, &command, command.count, 0) > 0 {
            let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            let answer = Data(rest.dropFirst(2).prefix(count))
            rest = rest.dropFirst(2 + count)
            give(connection, answer)
            // Of an answer that is cut off the rest would be waited for, until the deadline of a command.
            let told = answer.dropFirst(2).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard answer.count >= 10, told <= answer.count else { break }
        }
        shutdown(connection, Int32(SHUT_WR))
        drain(connection)
    }) {
        _ = unlessRefused([TPMError.self]) {
            let connection = try TPMConnection(TPMAddress("swtpm:path=\(tpm.path)"), pinned: nil)
            hold(connection.name.count == 34, "a name of another length")
            _ = try connection.attempts()
        }
    }
}

/// What is kept beside the state, and what the owner wrote down.
private func readKept(_ choice: UInt8, _ bytes: Data) {
    if choice & 3 == 1 {
        let file = unlessRefused([TPMError.self]) { try TPMRootFile(Kept(bytes: bytes)) }
        if let file, let written = try? file.encoded() {
            hold((try? TPMRootFile(Kept(bytes: written))) != nil, "what is kept is not read again")
        }
        return
    }
    let text = SecretBytes(bytes)
    guard let key = RecoveryKey(text: text) else { return }
    let spelled = key.text
    let again = spelled.withUnsafeBytes { RecoveryKey(text: SecretBytes($0)) }
    hold(again != nil, "a recovery key is shown and not read")
}

private struct Kept: EnclaveStorage {
    let bytes: Data
    func load() throws -> Data? { bytes }
    func replace(_ bytes: Data) throws {}
}

private func tpmSeeds() throws -> [Data] {
    func number(_ value: Int, _ size: Int) -> Data {
        Data((0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    }
    func answer(_ code: Int, _ body: Data = Data(), sessions: Bool = false) -> Data {
        let answer = number(sessions ? 0x8002 : 0x8001, 2) + number(10 + body.count, 4) + number(code, 4) + body
        return Data([UInt8(answer.count & 0xFF), UInt8(answer.count >> 8)]) + answer
    }
    let noHandles = answer(0, Data([0]) + number(1, 4) + number(0, 4))
    let handles = answer(0, Data([0]) + number(1, 4) + number(2, 4) + number(0x8000_0000, 4) + number(0x8000_0001, 4))
    let point = number(32, 2) + Data(repeating: 5, count: 32)
    let area =
        number(0x23, 2) + number(0x0B, 2) + number(0x30072, 4) + number(0, 2) + number(6, 2) + number(128, 2)
        + number(0x43, 2)
        + number(0x10, 2) + number(3, 2) + number(0x10, 2) + point + point
    let name = number(34, 2) + number(0x0B, 2) + Data(count: 32)
    let created =
        number(area.count, 2) + area + number(0, 2) + number(0, 2) + number(0x8021, 2) + number(0x4000_0001, 4)
        + number(0, 2) + name
    let primary = answer(
        0, number(0x8000_0000, 4) + number(created.count, 4) + created + number(0, 2) + Data([1]) + number(0, 2),
        sessions: true)
    let file = TPMRootFile(
        address: "swtpm:path=/tmp/tpm", name: Data(count: 34), endorsementName: nil,
        root: .init(publicArea: Data([1]), privateArea: Data([2])), counter: 0x0180_0001, recovery: Data([3]))
    let text = RecoveryKey().text.withUnsafeBytes { Data($0) }
    return [
        Data([0]) + noHandles + noHandles + primary,
        Data([0]) + handles + answer(0) + answer(0x8B) + noHandles + answer(0x922),
        Data([0]) + answer(0x101), Data([1]) + (try file.encoded()), Data([2]) + text,
    ]
}

let hardwareTargets: [FuzzTarget] = [
    FuzzTarget(name: "bus", run: readBus, seeds: busSeeds), FuzzTarget(name: "tpm", run: readTPM, seeds: tpmSeeds),
]
