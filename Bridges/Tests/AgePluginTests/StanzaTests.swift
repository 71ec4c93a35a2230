import Testing

@testable import AgePlugin

@Suite struct StanzaTests {
    @Test("AG-2: what is written is read as it was", arguments: [0, 1, 16, 47, 48, 49, 95, 96, 97, 300])
    func roundTrip(count: Int) throws {
        let stanza = Stanza(
            ["recipient-stanza", "0", "p256tag"], body: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try stanzas(String(decoding: stanza.encoded, as: UTF8.self)) == [stanza])
    }

    /// C2SP's vectors of stanzas (CCTV, `age`), by their names, with bodies of our own.
    @Test(
        "AG-2: C2SP's vectors that are stanzas",
        arguments: [
            ("stanza_empty_body", "-> empty\n\n"),
            ("stanza_empty_last_line", "-> full\n\(String(repeating: "A", count: 64))\n\n"),
            ("stanza_valid_characters", "-> !\"#$%&'()*+,-./ 09:;<=>?@ AZ[\\]^_` az{|}~\n\n"),
            ("stanza_long_body", "-> long\n\(String(repeating: "A", count: 64))\nAAAA\n"),
        ])
    func accepted(name: String, text: String) throws {
        #expect(try stanzas(text).count == 1, "\(name)")
    }

    @Test(
        "AG-2: C2SP's vectors that are none",
        arguments: [
            ("stanza_bad_start", "->> a\n\n"), ("stanza_no_start", "a\n\n"),
            ("stanza_base64_padding", "-> a\nAA==\n"), ("stanza_empty_argument", "-> a  b\n\n"),
            ("stanza_trailing_space", "-> a \n\n"), ("stanza_invalid_character", "-> a \u{E8}\n\n"),
            ("stanza_control_character", "-> a\u{7F}\n\n"),
            ("stanza_long_line", "-> a\n\(String(repeating: "A", count: 68))\n"),
            ("stanza_missing_body", "-> a\n-> b\n\n"),
            ("stanza_missing_final_line", "-> a\n\(String(repeating: "A", count: 64))\n"),
            ("stanza_multiple_short_lines", "-> a\nAAAA\nAAAA\n"), ("stanza_no_arguments", "->\n\n"),
            ("stanza_no_arguments_space", "-> \n\n"), ("stanza_not_canonical", "-> a\nAB\n"),
            ("stanza_spurious_cr", "-> a\r\n\n"), ("stanza_spurious_cr_body", "-> a\nAAAA\r\n"),
            ("stanza_one_character", "-> a\nA\n"),
        ])
    func refused(name: String, text: String) {
        #expect(throws: StanzaError.malformed, "\(name)") { try stanzas(text) }
    }

    @Test("AG-2: neither a long line nor a long body")
    func bounds() throws {
        let long = String(repeating: "a", count: StanzaReader.maximumCount)
        #expect(throws: StanzaError.tooLong) { try stanzas("-> \(long)\n\n") }
        let body = String(repeating: String(repeating: "A", count: 64) + "\n", count: 1024)
        #expect(throws: StanzaError.tooLong) { try stanzas("-> a\n\(body)\n") }
        // Each has its own count.
        #expect(try stanzas(String(repeating: "-> a\nAAAA\n", count: 10_000)).count == 10_000)
    }
}

@Suite struct Bech32Tests {
    @Test(
        "AG-5: BIP 173's vectors",
        arguments: [
            "A12UEL5L", "a12uel5l", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
            "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
            "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "?1ezyfcl",
        ])
    func valid(text: String) throws {
        // Of some the last group is no whole byte: then only the sum is right.
        guard let (prefix, bytes) = Bech32.decode(text) else {
            Issue.record("refused")
            return
        }
        #expect(Bech32.encode(prefix, bytes) == text)
    }

    @Test(
        "AG-5: what is not Bech32",
        arguments: [
            "", "1", "a", "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "A1G7SGD8", "10a06t8", "1qzzfhee",
            "a12uel5m", "A12uEL5L", "a12uel5l ", "a12uel5\u{E9}", "de1lg7wt\u{FF}", "\u{20}1nwldj5",
        ])
    func invalid(text: String) {
        #expect(Bech32.decode(text) == nil)
    }

    @Test("AG-5: no limit of 90 characters, but one")
    func long() throws {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for prefix in ["age1touchstone", "AGE-PLUGIN-TOUCHSTONE-"] {
            let text = Bech32.encode(prefix, bytes)
            let (found, read) = try #require(Bech32.decode(text))
            #expect(found == prefix)
            #expect(read == bytes)
        }
        #expect(Bech32.decode(Bech32.encode("a", Array(repeating: 0, count: 16 << 10))) == nil)
    }
}
