import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneTransport

/// What a call of the keychain's leaves in the memory of an app: nothing in the library's own buffers, once the app let go of the value.
@Suite struct WipedMemoryTests {
    /// Bytes that this process has in memory in one form only: as the six bits of each character of their base64.
    private struct Secret {
        let values: [UInt8]

        init(characters: Int) { values = (0..<characters).map { _ in .random(in: 0..<64) } }

        var count: Int { values.count / 4 * 3 }

        func byte(_ index: Int) -> UInt8 {
            let group = values[(index / 3 * 4)..<(index / 3 * 4 + 4)].reduce(UInt32(0)) { $0 << 6 | UInt32($1) }
            return UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * (index % 3)))
        }

        func character(_ index: Int) -> UInt8 {
            switch values[index] {
            case 0..<26: UInt8(ascii: "A") + values[index]
            case 26..<52: UInt8(ascii: "a") + values[index] - 26
            case 52..<62: UInt8(ascii: "0") + values[index] - 52
            case 62: UInt8(ascii: "+")
            default: UInt8(ascii: "/")
            }
        }

        var data: Data {
            Data(wiping: count) { bytes in
                for index in 0..<count { bytes[index] = byte(index) }
                return true
            } ?? Data()
        }

        func isEqual(_ data: Data) -> Bool {
            data.count == count && (0..<count).allSatisfy { data[data.startIndex + $0] == byte($0) }
        }

        /// In which forms, and how often, a piece of it is in memory that this process can write.
        var places: [String: Int] {
            let middle = values.count / 8 * 4
            return [
                "raw": OwnMemory.count(of: 18) { byte(middle / 4 * 3 + $0) },
                "base64": OwnMemory.count(of: 24) { character(middle + $0) },
            ].filter { $0.value > 0 }
        }
    }

    /// Answers one read with a value, or takes one addition.
    private static func client(answeringWith secret: Secret?) -> VarlinkClient {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let server = SocketChannel(descriptor: ends[1])
        Thread.detachNewThread {
            guard (try? server.receive()) != nil else { return }
            let frame =
                secret.map { secret in
                    try? Frame.reply(
                        KeychainInterface.CopyMatching.Reply(items: [.init(attributes: nil, data: secret.data)]),
                        continues: false)
                } ?? (try? Frame.reply(KeychainInterface.Add.Reply(item: .init()), continues: false))
            if let frame { try? server.send(frame) }
        }
        return VarlinkClient(SocketChannel(descriptor: ends[0]))
    }

    /// The two ends share the memory here, so that both are looked at.
    @Test("Of a value that was read nothing is left when the app let go of it", arguments: [64, 400_000])
    func reading(characters: Int) throws {
        let secret = Secret(characters: characters)
        #expect(secret.places == [:])
        func read() throws {
            let reply = try Self.client(answeringWith: secret)
                .call(KeychainInterface.CopyMatching.self, .init(query: [:], context: nil))
            let isWhole = reply.items.first?.data.map(secret.isEqual) == true
            #expect(isWhole)
            // The control: while the app has it, it is found.
            #expect(secret.places["raw", default: 0] > 0)
            withExtendedLifetime(reply) {}
        }
        try read()
        try settled(secret)
    }

    @Test("Of a value that was kept nothing is left when the app let go of it", arguments: [64, 400_000])
    func adding(characters: Int) throws {
        let secret = Secret(characters: characters)
        func add() throws {
            let data = secret.data
            #expect(secret.places == ["raw": 1])
            _ = try Self.client(answeringWith: nil)
                .call(KeychainInterface.Add.self, .init(attributes: ["v_Data": .data(data)], context: nil))
            withExtendedLifetime(data) {}
        }
        try add()
        try settled(secret)
    }

    /// The other end's thread may still be on its way to its end.
    private func settled(_ secret: Secret) throws {
        let limit = ContinuousClock.now + .seconds(30)
        while !secret.places.isEmpty, ContinuousClock.now < limit { usleep(10_000) }
        #expect(secret.places == [:])
    }
}

/// Looks at the memory of this very process.
private enum OwnMemory {
    private static let bytes = 4 << 20

    /// How often so many bytes are in memory that can be written, in one piece.
    static func count(of length: Int, _ byte: (Int) -> UInt8) -> Int {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS
        guard let own = mmap(nil, bytes, PROT_READ | PROT_WRITE, flags, -1, 0), own != MAP_FAILED else { return -1 }
        defer { munmap(own, bytes) }
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        defer { close(memory) }
        // Only headers of GNU's have it.
        guard memory >= 0, let symbol = dlsym(nil, "memmem") else { return -1 }
        typealias Find =
            @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeMutableRawPointer?
        let find = unsafeBitCast(symbol, to: Find.self)
        for index in 0..<length { own.storeBytes(of: byte(index), toByteOffset: index, as: UInt8.self) }
        let room = own + 4096
        var count = 0
        for range in mappings() {
            var start = range.lowerBound
            while start < range.upperBound {
                let wanted = min(bytes - 4096, range.upperBound - start)
                let read = pread(memory, room, wanted, start)
                // Gone meanwhile.
                guard read > 0 else { break }
                var rest = UnsafeMutableRawPointer(room)
                while let hit = find(rest, read - (rest - room), own, length) {
                    let address = start + (hit - room)
                    // What we look for, and what we look into, is not what we look for.
                    if !(UInt(bitPattern: own)..<UInt(bitPattern: own + bytes)).contains(UInt(address)) { count += 1 }
                    rest = hit + 1
                }
                start += wanted < bytes - 4096 ? wanted : wanted - (length - 1)
            }
        }
        return count
    }

    private static func mappings() -> [Range<Int>] {
        let lines = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        return lines.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            let ends = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            return fields[1].hasPrefix("rw") && ends.count == 2 ? ends[0]..<ends[1] : nil
        }
    }
}
