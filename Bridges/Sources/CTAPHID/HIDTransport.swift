/// One authenticator's end of CTAPHID: packets in; packets, whole requests and cancels out (FD-6, FD-7).
///
/// Its owner carries out one request at a time, tells the answer with ``finish(_:)``, and calls ``tick(now:isAsking:)`` when ``wakes`` is over.
/// Times are seconds of a clock that only goes forward.
public struct HIDTransport: Sendable {
    /// What is to be done.
    public enum Output: Hashable, Sendable {
        /// These packets go to whoever has the device open.
        case send([[UInt8]])
        /// A request of CTAP2 is to be carried out: a command, and its parameters; at least one byte.
        case begin(channel: UInt32, request: [UInt8])
        /// Nobody waits for the request any more that is carried out.
        case cancel
    }

    private enum Limits {
        /// Between two packets of one message.
        static let pause = 0.5
        static let keepAlive = 0.1
    }

    private struct Part {
        var message: HIDMessage
        var count: Int
        var next: UInt8 = 0
        var deadline: Double
    }

    private struct Running {
        var channel: UInt32
        var nextKeepAlive: Double
        /// Whether its answer goes nowhere, because its channel began anew.
        var isForgotten = false
    }

    private var part: Part?
    private var running: Running?
    /// Channels are numbered from 1 on; this one was given out last.
    private var lastChannel: UInt32 = 0
    private let version: (UInt8, UInt8, UInt8)

    /// - Parameter version: Major, minor and build number, for INIT's answer.
    public init(version: (UInt8, UInt8, UInt8)) { self.version = version }

    /// When it wants to be told the time; nil if it waits for nothing.
    public var wakes: Double? { [part?.deadline, running?.nextKeepAlive].compactMap { $0 }.min() }

    /// Whether a request is carried out.
    public var isBusy: Bool { running != nil }

    // MARK: In

    /// Takes one packet.
    ///
    /// What is not 64 bytes is ignored.
    public mutating func receive(_ packet: [UInt8], now: Double) -> [Output] {
        guard packet.count == HIDMessage.packetCount else { return [] }
        let channel = packet[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard packet[4] & 0x80 != 0 else { return next(channel, packet, now) }
        return first(channel, packet[4] & 0x7F, Int(packet[5]) << 8 | Int(packet[6]), packet[7...], now)
    }

    private mutating func first(
        _ channel: UInt32, _ command: UInt8, _ count: Int, _ bytes: ArraySlice<UInt8>, _ now: Double
    ) -> [Output] {
        if command == HIDCommand.initialize { return initialize(channel, count, bytes) }
        // 0 and the broadcast channel are for nothing else, and others have to be given out first.
        guard channel != 0, channel != HIDMessage.broadcast, channel <= lastChannel else {
            return refuse(.invalidChannel, channel)
        }
        if command == HIDCommand.cancel {
            // It has no answer of its own: the request that it ends has one.
            guard running?.channel == channel, running?.isForgotten == false else { return [] }
            return [.cancel]
        }
        if let part {
            guard part.message.channel == channel else { return refuse(.channelBusy, channel) }
            self.part = nil
            return refuse(.invalidSequence, channel)
        }
        guard running == nil else { return refuse(.channelBusy, channel) }
        guard [HIDCommand.ping, HIDCommand.cbor, HIDCommand.wink].contains(command) else {
            return refuse(.invalidCommand, channel)
        }
        guard count <= HIDMessage.longest, command != HIDCommand.cbor || count > 0,
            command != HIDCommand.wink || count == 0
        else { return refuse(.invalidLength, channel) }
        let message = HIDMessage(channel: channel, command: command, payload: Array(bytes.prefix(count)))
        guard message.payload.count < count else { return whole(message, now) }
        part = Part(message: message, count: count, deadline: now + Limits.pause)
        return []
    }

    private mutating func next(_ channel: UInt32, _ packet: [UInt8], _ now: Double) -> [Output] {
        // One that belongs to no message is ignored, as the standard wants it.
        guard var part, part.message.channel == channel else { return [] }
        guard packet[4] == part.next else {
            self.part = nil
            return refuse(.invalidSequence, channel)
        }
        part.message.payload += packet[5...].prefix(part.count - part.message.payload.count)
        guard part.message.payload.count < part.count else {
            self.part = nil
            return whole(part.message, now)
        }
        part.next += 1
        part.deadline = now + Limits.pause
        self.part = part
        return []
    }

    /// Gives out a channel, or has one begin anew.
    private mutating func initialize(_ channel: UInt32, _ count: Int, _ bytes: ArraySlice<UInt8>) -> [Output] {
        guard channel == HIDMessage.broadcast || (channel != 0 && channel <= lastChannel) else {
            return refuse(.invalidChannel, channel)
        }
        guard count == 8 else { return refuse(.invalidLength, channel) }
        var outputs: [Output] = []
        var given = channel
        if channel == HIDMessage.broadcast {
            lastChannel = lastChannel < HIDMessage.broadcast - 1 ? lastChannel + 1 : 1
            given = lastChannel
        } else {
            if part?.message.channel == channel { part = nil }
            if running?.channel == channel, running?.isForgotten == false {
                running?.isForgotten = true
                outputs.append(.cancel)
            }
        }
        // Version 2 of the protocol. Able to do CBOR (4), and no U2F (8).
        let answer = bytes.prefix(8) + HIDMessage.bytes(given) + [2, version.0, version.1, version.2, 0x04 | 0x08]
        return outputs + send(HIDMessage(channel: channel, command: HIDCommand.initialize, payload: Array(answer)))
    }

    private mutating func whole(_ message: HIDMessage, _ now: Double) -> [Output] {
        guard message.command == HIDCommand.cbor else { return send(message) }
        running = Running(channel: message.channel, nextKeepAlive: now + Limits.keepAlive)
        return [.begin(channel: message.channel, request: message.payload)]
    }

    // MARK: Out

    /// Tells the answer of the request that was carried out: a status, and what belongs to it.
    public mutating func finish(_ answer: [UInt8]) -> [Output] {
        guard let running else { return [] }
        self.running = nil
        guard !running.isForgotten else { return [] }
        return send(HIDMessage(channel: running.channel, command: HIDCommand.cbor, payload: answer))
    }

    /// Tells the time.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isAsking: Whether a person is waited for.
    /// - Returns: What to send now.
    public mutating func tick(now: Double, isAsking: Bool) -> [Output] {
        var outputs: [Output] = []
        if let part, part.deadline <= now {
            self.part = nil
            outputs += refuse(.timeout, part.message.channel)
        }
        if let running, running.nextKeepAlive <= now {
            self.running?.nextKeepAlive = now + Limits.keepAlive
            if !running.isForgotten {
                outputs += send(
                    HIDMessage(channel: running.channel, command: HIDCommand.keepAlive, payload: [isAsking ? 2 : 1]))
            }
        }
        return outputs
    }

    /// Forgets what has begun, because nobody has the device open any more.
    ///
    /// Channels stay given out.
    public mutating func close() -> [Output] {
        part = nil
        guard running?.isForgotten == false else { return [] }
        running?.isForgotten = true
        return [.cancel]
    }

    private func refuse(_ error: HIDError, _ channel: UInt32) -> [Output] { send(.error(error, on: channel)) }

    private func send(_ message: HIDMessage) -> [Output] { [.send(message.packets)] }
}
