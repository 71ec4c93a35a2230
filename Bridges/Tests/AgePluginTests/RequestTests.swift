import Foundation
import Testing

@testable import AgePlugin

@Suite struct RequestTests {
    private let fileKey = [UInt8](repeating: 3, count: 16)

    private func wrapping(_ stanzas: [Stanza]) throws -> [Stanza] {
        var request = WrapRequest()
        for stanza in stanzas { #expect(try request.take(stanza)) }
        #expect(try !request.take(Stanza(["done"])))
        return request.answers()
    }

    private func unwrapping(_ stanzas: [Stanza]) throws -> (problems: [PluginProblem], files: [UnwrapRequest.File]) {
        var request = UnwrapRequest()
        for stanza in stanzas { #expect(try request.take(stanza)) }
        #expect(try !request.take(Stanza(["done"])))
        return request.plan()
    }

    private func stanza(of file: Int, _ stanza: Stanza?) throws -> Stanza {
        let stanza = try #require(stanza)
        return Stanza(["recipient-stanza", "\(file)"] + stanza.arguments, body: stanza.body)
    }

    @Test("AG-2: two files for a recipient and an identity are four stanzas; grease is ignored")
    func wrap() throws {
        let (first, second) = (SampleKey(), SampleKey())
        let answers = try wrapping([
            Stanza(["grease-8sk2", "x", "y"], body: [1, 2, 3]), Stanza(["add-recipient", "\(first.recipient)"]),
            Stanza(["wrap-file-key"], body: fileKey), Stanza(["extension-labels"]),
            Stanza(["add-identity", "\(second.identity)"]), Stanza(["wrap-file-key"], body: fileKey),
        ])
        #expect(answers.map { $0.arguments[1] } == ["0", "0", "1", "1"])
        for (answer, key) in zip(answers, [first, second, first, second]) {
            let tagged = try #require(
                try TagStanza(Stanza(Array(answer.arguments.dropFirst(2)), body: answer.body)))
            #expect(tagged.open(agreed: try key.agree(tagged.share), key.recipient) == fileKey)
        }
    }

    @Test("AG-2: with one wrong recipient nothing is encrypted, and each wrong one is named")
    func wrongRecipient() throws {
        let answers = try wrapping([
            Stanza(["add-recipient", "\(SampleKey().recipient)"]), Stanza(["add-recipient", "age1touchstone1qqqq"]),
            Stanza(["add-identity", "AGE-PLUGIN-SE-1"]), Stanza(["wrap-file-key"], body: fileKey),
        ])
        #expect(answers.map(\.arguments) == [["error", "recipient", "1"], ["error", "identity", "0"]])
    }

    @Test("AG-4: the tag says which stanzas are for us, of several files")
    func plan() throws {
        let (mine, other) = (SampleKey(), SampleKey())
        let (problems, files) = try unwrapping([
            Stanza(["add-identity", "\(mine.identity)"]), Stanza(["grease-1"], body: fileKey),
            try stanza(of: 0, other.recipient.wrap(fileKey)), try stanza(of: 0, mine.recipient.wrap(fileKey)),
            try stanza(of: 1, other.recipient.wrap(fileKey)), Stanza(["recipient-stanza", "2", "X25519", "a"]),
            try stanza(of: 7, mine.recipient.wrap(fileKey)),
        ])
        #expect(problems.isEmpty)
        #expect(files.map(\.number) == [0, 7])
        #expect(files.map { $0.matches.map(\.index) } == [[1], [0]])
    }

    @Test("AG-2, AG-3: a malformed stanza closes its file, a wrong identity all of them")
    func malformed() throws {
        let mine = SampleKey()
        let identity = Stanza(["add-identity", "\(mine.identity)"])
        let files = [
            try stanza(of: 0, mine.recipient.wrap(fileKey)), Stanza(["recipient-stanza", "0", "p256tag", "AAAAAA"]),
            try stanza(of: 1, mine.recipient.wrap(fileKey)),
        ]
        let (problems, opened) = try unwrapping([identity] + files)
        #expect(problems == [.stanza(file: 0, index: 1)])
        #expect(problems.map(\.stanza.arguments) == [["error", "stanza", "0", "1"]])
        #expect(opened.map(\.number) == [1])
        let (wrong, none) = try unwrapping([identity, Stanza(["add-identity", "AGE-SECRET-KEY-1"])] + files)
        #expect(wrong == [.identity(1)])
        #expect(none.isEmpty)
    }

    @Test(
        "AG-2: commands that lack what belongs to them, and files that go backwards, end it",
        arguments: [
            [Stanza(["add-identity"])], [Stanza(["add-identity", "a", "b"])], [Stanza(["recipient-stanza", "0"])],
            [Stanza(["recipient-stanza", "-1", "a"])], [Stanza(["recipient-stanza", "00", "a"])],
            [Stanza(["recipient-stanza", "+1", "a"])], [Stanza(["recipient-stanza", "9999999999999999999", "a"])],
            [Stanza(["recipient-stanza", "1", "a"]), Stanza(["recipient-stanza", "0", "a"])],
        ])
    func ends(stanzas: [Stanza]) {
        #expect(throws: StanzaError.malformed) {
            var request = UnwrapRequest()
            for stanza in stanzas { _ = try request.take(stanza) }
        }
    }

    @Test("AG-2: a file key of 16 bytes, and no more files, names and stanzas than there may be")
    func bounds() {
        var wrap = WrapRequest()
        #expect(throws: StanzaError.malformed) { try wrap.take(Stanza(["wrap-file-key"], body: [1])) }
        #expect(throws: StanzaError.tooLong) {
            for _ in 0...1024 { _ = try wrap.take(Stanza(["wrap-file-key"], body: fileKey)) }
        }
        #expect(throws: StanzaError.tooLong) {
            var unwrap = UnwrapRequest()
            for _ in 0...1024 { _ = try unwrap.take(Stanza(["add-identity", "a"])) }
        }
        #expect(throws: StanzaError.tooLong) {
            var unwrap = UnwrapRequest()
            for file in 0...1024 { _ = try unwrap.take(Stanza(["recipient-stanza", "\(file)", "a"])) }
        }
        #expect(throws: StanzaError.tooLong) {
            var unwrap = UnwrapRequest()
            for _ in 0...(8 << 10) { _ = try unwrap.take(Stanza(["recipient-stanza", "0", "a"])) }
        }
    }
}
