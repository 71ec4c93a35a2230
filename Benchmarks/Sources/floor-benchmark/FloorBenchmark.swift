import CFloor
import Crypto
import Foundation
import Timing

/// The least that the same work can cost on this machine: no protocol, no access control, no keychain.
///
/// Reading: two round trips over a Unix socket to a process that only echoes, one AES-GCM opening, one SQLite query.
/// Adding: one SQLite insert with the durability that the keychain promises.
///
/// Beside them, what the same costs with three processes and the keychain's table: a round trip more to read and two to add, three AES-GCM
/// sealings, eight HMACs, and the row with its indexes.
@main
struct FloorBenchmark {
    static func main() throws {
        let echo = floor_start_echo()
        let words = CommandLine.arguments
        guard echo >= 0, words.count == 4, let items = Int(words[1]) else {
            throw FloorError("usage: floor-benchmark ITEMS PLACEMENT DIRECTORY")
        }
        func key(_ operation: String) -> Timing.Key { .init("floor", operation, items: items, words[2]) }

        var message = [UInt8](repeating: 0x5A, count: 200)
        func roundTrip() throws {
            guard floor_round_trip(echo, &message, message.count) == 0 else { throw FloorError("the echo is gone") }
        }
        let sealingKey = SymmetricKey(size: .bits256)
        let sealed = try AES.GCM.seal(message, using: sealingKey)
        let database = try Database(path: "\(words[3])/floor-\(items).db", rows: items)

        print(try measure(key("round trip"), count: 5_000) { _ in try roundTrip() }.line)
        print(
            try measure(key("read"), count: 5_000) { index in
                try roundTrip()
                try roundTrip()
                try database.find(index &* 7919 % items)
                _ = try AES.GCM.open(sealed, using: sealingKey)
            }.line)
        print(try measure(key("add"), count: 300) { try database.insert(items + $0) }.line)
        try database.deleteRows(from: items)
        print(
            try measure(key("first read, three processes"), count: 5_000) { index in
                for _ in 0..<4 { try roundTrip() }
                try database.find(index &* 7919 % items)
                for _ in 0..<4 { _ = try AES.GCM.open(sealed, using: sealingKey) }
            }.line)
        let tagKeys = (0..<330).map { _ in SymmetricKey(size: .bits256) }
        let table = try KeychainTable(path: "\(words[3])/table-\(items).db", rows: items)
        print(
            try measure(key("add, three processes"), count: 300) { index in
                for _ in 0..<4 { try roundTrip() }
                for _ in 0..<4 { _ = try AES.GCM.seal(message, using: sealingKey) }
                let tags = (0..<8).map { tag in
                    Data(HMAC<SHA256>.authenticationCode(for: message + [UInt8(tag)], using: tagKeys[index]).prefix(16))
                }
                try table.insert(tags: tags)
            }.line)
        try table.deleteRows(from: items)
    }
}

struct FloorError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
