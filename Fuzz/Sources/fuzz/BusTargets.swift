import BridgeBus
import CTouchstoneSystem
import Foundation
import Glibc

@testable import TouchstoneSensors

private let bus = Impostor("bus")

/// One message of D-Bus, little-endian.
private func busMessage(
    _ type: UInt8, serial: UInt32, fields: [(UInt8, String, String)], answered: UInt32? = nil, signature: String = "",
    descriptors: UInt32? = nil, body: Data = Data()
) -> Data {
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
    if let descriptors { add(9, "u", number(descriptors)) }
    let head =
        Data([UInt8(ascii: "l"), type, 0, 1]) + number(UInt32(body.count)) + number(serial)
        + number(UInt32(array.count))
    return padded(head + array, 8) + body
}

private func number(_ value: UInt32) -> Data { Data((0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }) }

private func busText(_ text: String) -> Data {
    var data = number(UInt32(text.utf8.count)) + Data(text.utf8) + Data([0])
    data += Data(count: (4 - data.count % 4) % 4)
    return data
}

private let driver = "org.freedesktop.DBus"
private let hello = answer(to: 1, serial: 1, from: driver, "s", busText(":1.5"))

private func answer(
    to call: UInt32, serial: UInt32, from sender: String, _ signature: String = "", _ body: Data = Data(),
    descriptors: UInt32? = nil
) -> Data {
    busMessage(
        2, serial: serial, fields: [(7, "s", sender), (6, "s", ":1.5")], answered: call, signature: signature,
        descriptors: descriptors, body: body)
}

/// What a bus, and whoever is on it, says to who connects: after a greeting and a hello that are heard, or from the first byte on.
///
/// A descriptor goes with the second half, if there is to be one. Nothing follows the greeting before it was answered: sd-bus 252 takes
/// a further line for a mistake of its own, and ends the process. Only a bus itself can do that to it.
@Sendable private func speak(_ connection: Int32, _ choice: UInt8, _ bytes: Data) {
    var greeting = Data("DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n".utf8)
    if choice & 2 != 0 { greeting += Data("AGREE_UNIX_FD\r\n".utf8) }
    var rest = hello + bytes
    if choice & 1 != 0 {
        guard let first = firstLines(choice & 2 == 0 ? 2 : 3, of: bytes) else { return give(connection, bytes) }
        (greeting, rest) = (first, Data(bytes.dropFirst(first.count)))
    }
    give(connection, greeting)
    var heard = Data()
    while heard.range(of: Data("Hello".utf8)) == nil {
        guard let more = take(connection) else { return }
        heard += more
    }
    guard choice & 5 == 4 else { return give(connection, rest) }
    let (first, second) = bytes.halves
    give(connection, hello + first)
    second.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        _ = touchstone_send_message(connection, start, bytes.count, connection)
    }
}

/// The first lines, with their ends; nil where there are fewer.
private func firstLines(_ count: Int, of bytes: Data) -> Data? {
    var end = bytes.startIndex
    for _ in 0..<count {
        guard let found = bytes.range(of: Data("\r\n".utf8), in: end..<bytes.endIndex) else { return nil }
        end = found.upperBound
    }
    return bytes[..<end]
}

// MARK: what the sensors hear

private func readBus(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    bus.serve({ speak($0, choice, rest) }) {
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
        // At the end of what it said the bus is gone; what was heard before that is kept.
        for signal in (try? bus.takeSignals()) ?? bus.takeKeptSignals() {
            hold(signal.texts.allSatisfy { $0.utf8.count <= 256 }, "a longer text than is read")
        }
    }
}

private func busSeeds() -> [Data] {
    let done = answer(to: 2, serial: 2, from: driver)
    let owner = answer(to: 3, serial: 3, from: driver, "s", busText(":1.7"))
    let device = answer(to: 4, serial: 4, from: ":1.7", "o", busText("/net/reactivated/Fprint/Device/0"))
    let devices = answer(
        to: 4, serial: 4, from: ":1.7", "ao", number(33 + 4) + busText("/net/reactivated/Fprint/Device/0"))
    let file = answer(to: 5, serial: 6, from: ":1.7", "h", number(0), descriptors: 1)
    func signal(_ path: String, _ interface: String, _ member: String, _ sender: String, _ types: String, _ body: Data)
        -> Data
    {
        busMessage(
            4, serial: 5, fields: [(1, "o", path), (2, "s", interface), (3, "s", member), (7, "s", sender)],
            signature: types, body: body)
    }
    let status = signal(
        "/net/reactivated/Fprint/Device/0", "net.reactivated.Fprint.Device", "VerifyStatus", ":1.7", "sb",
        busText("verify-match") + Data([1, 0, 0, 0]))
    let changed = signal(
        "/org/freedesktop/DBus", driver, "NameOwnerChanged", driver, "sss",
        busText("net.reactivated.Fprint") + busText(":1.7") + busText(""))
    let failure = busMessage(
        3, serial: 6, fields: [(4, "s", "net.reactivated.Fprint.Error.NoSuchDevice"), (7, "s", ":1.7")], answered: 4,
        signature: "s", body: busText("no"))
    return [
        Data([0]) + done + owner + status + device + status + changed + status, Data([0]) + done + owner + failure,
        Data([2]) + done + owner + devices,
        Data([6]) + Data.halves(done + owner + status + device, file + status),
        Data([1]) + Data("DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n".utf8) + hello + done,
        Data([1]) + Data("REJECTED EXTERNAL\r\n".utf8),
    ]
}

// MARK: what programs ask of a bridge

/// Calls of other programs, signals, and what the bus says of who sent them.
private func readCalls(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    bus.serve({ speak($0, choice | 2, rest) }) {
        guard
            let connection = unlessRefused([BusFailure.self], { try BusConnection(address: "unix:path=\(bus.path)") })
        else { return }
        connection.run { event in
            guard case .call(let call, _) = event else { return }
            hold(call.sender.utf8.count <= 255 && call.path.utf8.count <= 255, "a longer name than is read")
            // What can be read can be written: the same goes back.
            switch choice >> 3 & 3 {
            case 0: connection.outbox.reply(call, call.arguments)
            case 1: connection.outbox.refuse(call, "org.freedesktop.DBus.Error.Failed", call.signature)
            case 2:
                connection.outbox.signal("S", of: "a.b", at: "/a", call.arguments, to: nil)
                connection.outbox.reply(call, [.variants([("a", .structure(call.arguments))])], isSecret: true)
            default:
                _ = (call.arguments.map(\.dictionary), call.arguments.map(\.textDictionary))
                connection.outbox.call(call.sender, "/a", "a.b", "C", call.arguments)
            }
        }
    }
}

private func callSeeds() -> [Data] {
    func call(_ serial: UInt32, _ member: String, _ types: String, _ body: Data, descriptors: UInt32? = nil) -> Data {
        busMessage(
            1, serial: serial,
            fields: [
                (1, "o", "/org/freedesktop/secrets"), (2, "s", "org.freedesktop.Secret.Service"), (3, "s", member),
                (6, "s", ":1.5"), (7, "s", ":1.9"),
            ],
            signature: types, descriptors: descriptors, body: body)
    }
    /// An array whose elements are aligned to 8 bytes: it stands at the start.
    func array(_ contents: Data) -> Data { number(UInt32(contents.count)) + Data(count: 4) + contents }
    func named(_ name: String, _ value: UInt32) -> Data {
        let text = busText(name)
        return text + Data([1, UInt8(ascii: "u"), 0]) + Data(count: (4 - (text.count + 3) % 4) % 4) + number(value)
    }
    let done = answer(to: 2, serial: 2, from: driver)
    let first = named("ProcessID", 4242)
    let peer = answer(
        to: 3, serial: 4, from: driver, "a{sv}",
        array(first + Data(count: (8 - first.count % 8) % 8) + named("UnixUserID", 1000)))
    let open = call(
        3, "OpenSession", "sv", busText("plain") + Data([1, UInt8(ascii: "s"), 0, 0]) + busText(""))
    let search = call(5, "SearchItems", "a{ss}", array(busText("xdg:schema") + busText("org.a")))
    let secret = call(
        6, "SetSecret", "(oayays)",
        busText("/s/1") + number(0) + number(3) + Data("abc".utf8) + Data([0]) + busText("text/plain"))
    let others = call(
        7, "Others", "bit", Data([1, 0, 0, 0]) + number(7) + Data(repeating: 1, count: 8))
    let withFile = call(8, "RetrieveSecret", "ha{sv}", number(0) + Data(count: 4), descriptors: 1)
    let left = busMessage(
        4, serial: 9,
        fields: [(1, "o", "/org/freedesktop/DBus"), (2, "s", driver), (3, "s", "NameOwnerChanged"), (7, "s", driver)],
        signature: "sss", body: busText(":1.9") + busText(":1.9") + busText(""))
    return [0, 8, 16, 24].map { Data([$0]) + done + open + peer + search + secret + others + left }
        + [Data([4]) + Data.halves(done + open + peer, withFile + search)]
}

let busTargets: [FuzzTarget] = [
    FuzzTarget(name: "bus", run: readBus, seeds: busSeeds),
    FuzzTarget(name: "bus-calls", run: readCalls, seeds: callSeeds),
]
