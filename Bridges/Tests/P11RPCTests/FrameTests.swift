import P11RPC
import Testing

@Suite("PK-4: frames")
struct FrameTests {
    private let bytes = Bytes().word(16).word(3).word(2).all + Array("mod".utf8) + [7, 8]

    @Test("a frame is as long as its header says, and its options are passed over")
    func read() throws {
        #expect(Frame.length(Array(bytes.prefix(11))) == nil)
        #expect(Frame.length(Array(bytes.prefix(12))) == 17)
        #expect(Frame.length(bytes + [1, 2, 3]) == 17)
        let frame = try #require(Frame(bytes))
        #expect(frame.code == 16 && frame.body == [7, 8])
        #expect(Frame(frame.bytes) == frame)
        #expect(Frame(Array(bytes.dropLast())) == nil)
    }

    @Test("no code, and more than 1 MiB, are no frame (PK-4)")
    func refused() {
        #expect(Frame.length(Bytes().word(0).word(0).word(2).all) == 0)
        #expect(Frame.length(Bytes().word(1).word(0).word((1 << 20) - 12).all) == 1 << 20)
        #expect(Frame.length(Bytes().word(1).word(0).word((1 << 20) - 11).all) == 0)
        #expect(Frame.length(Bytes().word(1).word(4096).word(0).all) == 4108)
        #expect(Frame.length(Bytes().word(1).word(4097).word(0).all) == 0)
        #expect(Frame.length(Bytes().word(1).word(.max).word(.max).all) == 0)
    }

    @Test("what the owner's command says comes back as it was")
    func management() throws {
        let request = ManagementFrame.request([1, 2, 3])
        #expect(request.first == Frame.version)
        let frame = try #require(Frame(Array(request.dropFirst())))
        let (call, read) = try Request.read(frame.body)
        #expect(read == .manage([1, 2, 3]))
        let answer = [Frame.version] + Frame(code: frame.code, body: Answer.done([.bytes([9])]).body(of: call)).bytes
        #expect(ManagementFrame.length(answer) == answer.count)
        #expect(ManagementFrame.contents(answer) == [9])
        #expect(ManagementFrame.contents(Array(answer.dropLast())) == nil)
        let refusal = [Frame.version] + Frame(code: 1, body: Answer.failed(.functionNotSupported).body(of: call)).bytes
        #expect(ManagementFrame.contents(refusal) == nil)
    }
}

@Suite("PK-4: answers")
struct AnswerTests {
    @Test("an answer has its call, its signature and its values")
    func done() {
        #expect(Answer.done([.number(5)]).body(of: .openSession) == Bytes.body(10, "u").number(5).all)
        #expect(Answer.done([.bytes([1, 2])]).body(of: .sign) == Bytes.body(43, "ay").list([1, 2]).all)
        #expect(Answer.done([.countOfBytes(64)]).body(of: .sign) == Bytes.body(43, "ay").byte(0).word(64).all)
        #expect(
            Answer.done([.numbers([7])]).body(of: .findObjects) == Bytes.body(27, "au").byte(1).word(1).number(7).all)
        #expect(
            Answer.done([.attributes([Attribute(.token, .flag(true)), Attribute(.value, nil)]), .number(0x11)])
                .body(of: .getAttributeValue)
                == Bytes.body(24, "aAu").word(2).word(1).byte(1).word(1).byte(1).word(0x11).byte(0).number(0x11).all)
    }

    @Test("an error is call 0 with its number, and so is an answer of another signature")
    func failed() {
        let error = Bytes.body(0, "u").number(0x50).all
        #expect(Answer.failed(.functionCanceled).body(of: .sign) == error)
        #expect(Answer.failed(.functionCanceled).body(of: nil) == error)
        #expect(Answer.done([.number(1)]).body(of: .sign) == Bytes.body(0, "u").number(0x30).all)
        #expect(Answer.failed(.ok).body(of: .sign) == Bytes.body(0, "u").number(0x30).all)
    }

    @Test("texts have their fixed length, in whole characters")
    func texts() {
        let name = Answer.done([.version(2, 40), .text("ééé", 5), .number(0), .text("a", 3), .version(1, 0)])
        let bytes = name.body(of: .getInfo)
        let start = Bytes.body(3, "vsusv").all + [2, 40] + Bytes().string("éé ").all
        #expect(Array(bytes.prefix(start.count)) == start)
    }
}
