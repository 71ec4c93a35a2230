import Testing

@testable import CTAPHID

private let broadcast: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
private let nonce: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

private func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: 64 - bytes.count) }

/// The transport with one channel given out, which is 1.
private func withChannel() -> HIDTransport {
    var transport = HIDTransport(version: (1, 2, 3))
    _ = transport.receive(padded(broadcast + [0x86, 0, 8] + nonce), now: 0)
    return transport
}

private let one: [UInt8] = [0, 0, 0, 1]
private let two: [UInt8] = [0, 0, 0, 2]

private func error(_ code: UInt8, on channel: [UInt8] = one) -> [HIDTransport.Output] {
    [.send([padded(channel + [0xBF, 0, 1, code])])]
}

/// The packets of CTAPHID, byte for byte as the standard draws them (FD-6, FD-7).
@Suite struct HIDTransportTests {
    @Test func initGivesOutAChannel() {
        var transport = HIDTransport(version: (1, 2, 3))
        // Nonce, channel, protocol 2, version, capabilities CBOR and NMSG.
        #expect(
            transport.receive(padded(broadcast + [0x86, 0, 8] + nonce), now: 0)
                == [.send([padded(broadcast + [0x86, 0, 17] + nonce + one + [2, 1, 2, 3, 0x0C])])])
        #expect(
            transport.receive(padded(broadcast + [0x86, 0, 8] + nonce), now: 0)
                == [.send([padded(broadcast + [0x86, 0, 17] + nonce + two + [2, 1, 2, 3, 0x0C])])])
    }

    @Test func initOfAnotherLengthIsRefused() {
        var transport = withChannel()
        #expect(transport.receive(padded(broadcast + [0x86, 0, 7] + nonce), now: 0) == error(3, on: broadcast))
    }

    @Test(arguments: [[0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 2]] as [[UInt8]])
    func aChannelThatWasNotGivenOutIsRefused(_ channel: [UInt8]) {
        var transport = withChannel()
        #expect(transport.receive(padded(channel + [0x81, 0, 1, 9]), now: 0) == error(0x0B, on: channel))
    }

    @Test(arguments: [0, 1, 57, 58, 116, 117, 7609]) func aPingComesBack(_ count: Int) {
        var transport = withChannel()
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let packets = HIDMessage(channel: 1, command: 1, payload: payload).packets
        #expect(packets.count == (count <= 57 ? 1 : 1 + (count - 57 + 58) / 59))
        var outputs: [HIDTransport.Output] = []
        for packet in packets { outputs += transport.receive(packet, now: 0) }
        #expect(outputs == [.send(packets)])
    }

    @Test func aMessageOfTwoPacketsIsARequest() {
        var transport = withChannel()
        let payload = (0..<60).map { UInt8($0) }
        #expect(transport.receive(padded(one + [0x90, 0, 60] + payload[..<57]), now: 0) == [])
        #expect(transport.wakes == 0.5)
        #expect(
            transport.receive(padded(one + [0] + payload[57...]), now: 0.4)
                == [.begin(channel: 1, request: payload)])
        #expect(transport.isBusy)
        #expect(transport.finish([0, 7]) == [.send([padded(one + [0x90, 0, 2, 0, 7])])])
        #expect(!transport.isBusy)
    }

    @Test(
        arguments: [
            // MSG of U2F, LOCK, SYNC, a vendor's, keepalive and error as requests.
            (0x83, 1), (0x84, 1), (0xBC, 1), (0xC0, 1), (0xBB, 1), (0xBF, 1),
        ] as [(UInt8, UInt8)]) func whatIsNotOfferedIsRefused(_ command: UInt8, _ code: UInt8)
    {
        var transport = withChannel()
        #expect(transport.receive(padded(one + [command, 0, 1, 0]), now: 0) == error(code))
    }

    @Test(arguments: [[0x90, 0, 0], [0x90, 0x1D, 0xBA], [0x81, 0xFF, 0xFF], [0x88, 0, 1]] as [[UInt8]])
    func aLengthThatIsNoneIsRefused(_ head: [UInt8]) {
        var transport = withChannel()
        #expect(transport.receive(padded(one + head), now: 0) == error(3))
        #expect(transport.wakes == nil)
    }

    @Test func packetsOutOfTurnEndTheMessage() {
        var transport = withChannel()
        _ = transport.receive(padded(one + [0x81, 0, 200]), now: 0)
        #expect(transport.receive(padded(one + [1]), now: 0) == error(4))
        // The message is over: what still comes of it belongs to nothing.
        #expect(transport.receive(padded(one + [0]), now: 0) == [])
        _ = transport.receive(padded(one + [0x81, 0, 200]), now: 0)
        #expect(transport.receive(padded(one + [0x81, 0, 1, 9]), now: 0) == error(4))
    }

    @Test func aPauseEndsTheMessage() {
        var transport = withChannel()
        _ = transport.receive(padded(one + [0x81, 0, 200]), now: 1)
        #expect(transport.tick(now: 1.49, isAsking: false) == [])
        #expect(transport.tick(now: 1.5, isAsking: false) == error(5))
        #expect(transport.tick(now: 2, isAsking: false) == [])
    }

    @Test func anotherChannelIsToldThatItIsBusy() {
        var transport = withChannel()
        _ = transport.receive(padded(broadcast + [0x86, 0, 8] + nonce), now: 0)
        // In the middle of a message, and while its request is carried out.
        _ = transport.receive(padded(one + [0x90, 0, 60]), now: 0)
        #expect(transport.receive(padded(two + [0x90, 0, 1, 4]), now: 0) == error(6, on: two))
        #expect(transport.receive(padded(two + [0]), now: 0) == [])
        _ = transport.receive(padded(one + [0]), now: 0)
        #expect(transport.receive(padded(two + [0x90, 0, 1, 4]), now: 0) == error(6, on: two))
        #expect(transport.receive(padded(one + [0x90, 0, 1, 4]), now: 0) == error(6))
        // It gets a channel all the same, and its cancel is for nothing.
        #expect(transport.receive(padded(broadcast + [0x86, 0, 8] + nonce), now: 0).count == 1)
        #expect(transport.receive(padded(two + [0x91, 0, 0]), now: 0) == [])
        #expect(transport.finish([0]) == [.send([padded(one + [0x90, 0, 1, 0])])])
        #expect(transport.receive(padded(two + [0x90, 0, 1, 4]), now: 0) == [.begin(channel: 2, request: [4])])
    }

    @Test func aCancelIsPassedOnAndTheRequestAnswers() {
        var transport = withChannel()
        #expect(transport.receive(padded(one + [0x91, 0, 0]), now: 0) == [])
        _ = transport.receive(padded(one + [0x90, 0, 1, 2]), now: 0)
        #expect(transport.receive(padded(one + [0x91, 0, 0]), now: 0) == [.cancel])
        #expect(transport.isBusy)
        #expect(transport.finish([0x2D]) == [.send([padded(one + [0x90, 0, 1, 0x2D])])])
    }

    @Test func aChannelThatBeginsAnewHearsNoOldAnswer() {
        var transport = withChannel()
        _ = transport.receive(padded(one + [0x90, 0, 1, 2]), now: 0)
        let outputs = transport.receive(padded(one + [0x86, 0, 8] + nonce), now: 0)
        #expect(outputs.first == .cancel)
        #expect(outputs.count == 2)
        #expect(transport.tick(now: 1, isAsking: true) == [])
        #expect(transport.receive(padded(one + [0x90, 0, 1, 4]), now: 0) == error(6))
        #expect(transport.finish([0x2D]) == [])
        #expect(transport.receive(padded(one + [0x90, 0, 1, 4]), now: 0) == [.begin(channel: 1, request: [4])])
    }

    @Test func whoWaitsIsToldEvery100Milliseconds() {
        var transport = withChannel()
        _ = transport.receive(padded(one + [0x90, 0, 1, 2]), now: 5)
        #expect(transport.wakes.map { abs($0 - 5.1) < 1e-9 } == true)
        #expect(transport.tick(now: 5.05, isAsking: true) == [])
        // 2: a person is waited for; 1: it works.
        #expect(transport.tick(now: 5.11, isAsking: true) == [.send([padded(one + [0xBB, 0, 1, 2])])])
        #expect(transport.tick(now: 5.12, isAsking: true) == [])
        #expect(transport.tick(now: 5.22, isAsking: false) == [.send([padded(one + [0xBB, 0, 1, 1])])])
    }

    @Test func whatNobodyHasOpenAnyMoreIsForgotten() {
        var transport = withChannel()
        _ = transport.receive(padded(one + [0x90, 0, 60]), now: 0)
        #expect(transport.close() == [])
        #expect(transport.wakes == nil)
        _ = transport.receive(padded(one + [0x90, 0, 1, 2]), now: 0)
        #expect(transport.close() == [.cancel])
        #expect(transport.close() == [])
        #expect(transport.finish([0]) == [])
        #expect(transport.receive(padded(one + [0x90, 0, 1, 4]), now: 0) == [.begin(channel: 1, request: [4])])
    }

    @Test(arguments: [0, 63, 65]) func whatIsNoPacketIsIgnored(_ count: Int) {
        var transport = withChannel()
        #expect(transport.receive([UInt8](repeating: 0xFF, count: count), now: 0) == [])
    }
}
