/// What CTAPHID can ask for, as it stands in a packet without its highest bit (FD-6).
public enum HIDCommand {
    static let ping: UInt8 = 0x01
    static let initialize: UInt8 = 0x06
    static let wink: UInt8 = 0x08
    static let cbor: UInt8 = 0x10
    static let cancel: UInt8 = 0x11
    static let keepAlive: UInt8 = 0x3B
    static let error: UInt8 = 0x3F
}

/// Why a packet is refused, as CTAPHID numbers it.
public enum HIDError: UInt8, Hashable, Sendable {
    case invalidCommand = 0x01
    case invalidLength = 0x03
    case invalidSequence = 0x04
    case timeout = 0x05
    case channelBusy = 0x06
    case invalidChannel = 0x0B
}

/// A whole message of one channel: one packet that begins it, and those that go on with it.
public struct HIDMessage: Hashable, Sendable {
    /// Bytes of each packet.
    public static let packetCount = 64
    static let firstCount = packetCount - 7
    static let nextCount = packetCount - 5
    static let mostNext = 128
    /// Most bytes of a message: one first packet, and 128 that follow.
    public static let longest = firstCount + mostNext * nextCount
    static let broadcast: UInt32 = 0xFFFF_FFFF

    var channel: UInt32
    var command: UInt8
    var payload: [UInt8]

    static func error(_ error: HIDError, on channel: UInt32) -> HIDMessage {
        HIDMessage(channel: channel, command: HIDCommand.error, payload: [error.rawValue])
    }

    /// Its packets, each of 64 bytes, zeros behind the last byte.
    var packets: [[UInt8]] {
        let count = payload.count
        var packets: [[UInt8]] = []
        var rest = payload[...]
        func add(_ head: [UInt8], _ room: Int) {
            let part = Self.bytes(channel) + head + rest.prefix(room)
            rest = rest.dropFirst(room)
            packets.append(part + [UInt8](repeating: 0, count: Self.packetCount - part.count))
        }
        add([command | 0x80, UInt8(count >> 8), UInt8(count & 0xFF)], Self.firstCount)
        while !rest.isEmpty { add([UInt8(packets.count - 1)], Self.nextCount) }
        return packets
    }

    static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}
