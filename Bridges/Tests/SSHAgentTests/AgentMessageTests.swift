import Crypto
import SSHAgentProtocol
import Testing

@Suite struct AgentMessageTests {
    @Test("SA-1: a frame has 1 byte to 256 KiB") func sizes() {
        #expect(AgentRequest.frameLength([0, 0, 0]) == nil)
        #expect(AgentRequest.frameLength([0, 0, 0, 1]) == 5)
        #expect(AgentRequest.frameLength([0, 4, 0, 0]) == (256 << 10) + 4)
        #expect(AgentRequest.frameLength([0, 0, 0, 0]) == 0)
        #expect(AgentRequest.frameLength([0, 4, 0, 1]) == 0)
        #expect(AgentRequest.frameLength([255, 255, 255, 255]) == 0)
    }

    @Test("SA-2: requests are read whole, or not at all") func requests() {
        #expect(AgentRequest(frame: string([11])) == .identities)
        let sign = [13] + string("key") + string("data") + [0, 0, 0, 2]
        #expect(AgentRequest(frame: string(sign)) == .sign(key: Array("key".utf8), data: Array("data".utf8), flags: 2))
        for count in 1..<sign.count { #expect(AgentRequest(frame: string(Array(sign.prefix(count)))) == .malformed) }
        #expect(AgentRequest(frame: string(sign + [0])) == .malformed)
        #expect(AgentRequest(frame: string([22] + string("word"))) == .lock(passphrase: Array("word".utf8)))
        #expect(AgentRequest(frame: string([23] + string("word"))) == .unlock(passphrase: Array("word".utf8)))
        #expect(AgentRequest(frame: string([17, 1, 2, 3])) == .other(type: 17))
        #expect(AgentRequest(frame: []) == .malformed)
    }

    @Test("SA-3: extensions, and their answers") func extensions() {
        #expect(AgentRequest(frame: string([27] + string("query"))) == .extension(name: "query", contents: []))
        #expect(AgentRequest(frame: string([27] + string([0xFF]))) == .malformed)
        #expect(AgentAnswer.extensions(["one"]).frame == string([29] + string("query") + string("one")))
        #expect(AgentAnswer.extensionFailure.frame == [0, 0, 0, 1, 28])
        #expect(AgentAnswer.failure.frame == [0, 0, 0, 1, 5])
        #expect(AgentAnswer.success.frame == [0, 0, 0, 1, 6])
    }

    @Test("SA-4: numbers of a signature are as short as can be, and not negative") func signatures() {
        func raw(_ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
            first + Array(repeating: 1, count: 32 - first.count) + second
                + Array(repeating: 1, count: 32 - second.count)
        }
        func numbers(_ raw: [UInt8]) -> [UInt8]? {
            P256Key.signature(raw: raw).map { Array($0.dropFirst(4 + P256Key.algorithm.utf8.count + 4)) }
        }
        let ones = { Array(repeating: UInt8(1), count: $0) }
        #expect(numbers(raw([0x7F], [1])) == string([0x7F] + ones(31)) + string(ones(32)))
        #expect(numbers(raw([0x80], [1])) == string([0, 0x80] + ones(31)) + string(ones(32)))
        #expect(numbers(raw([0, 0, 0x90], [0, 1])) == string([0, 0x90] + ones(29)) + string(ones(31)))
        #expect(P256Key.signature(raw: ones(63)) == nil)
        #expect(P256Key.blob(point: ones(65)) == nil)
        #expect(P256Key.blob(point: [4] + ones(63)) == nil)
    }

    @Test("SA-1: no bytes make the readers stop the program") func anything() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if bytes.count > 8, Bool.random() { bytes.replaceSubrange(0..<4, with: [0, 0, 0, UInt8(bytes.count - 4)]) }
            _ = AgentRequest(frame: bytes)
            let bindings = Bound()
            #expect(!bindings.bind(bytes))
            #expect(HostKey(blob: bytes) == nil)
            #expect(SignaturePurpose(data: bytes, key: userKey) == .unknown)
        }
    }
}
