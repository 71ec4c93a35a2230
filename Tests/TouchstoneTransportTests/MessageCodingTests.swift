import Foundation
import Testing
import TouchstoneCore

@testable import TouchstoneTransport

/// Our JSON held against Foundation's: what either writes, the other reads as the same.
@Suite struct MessageCodingTests {
    /// Values of every shape that a message has.
    struct Sample: Codable, Hashable {
        struct Inner: Codable, Hashable {
            var flag: Bool
            var list: [String]
        }
        enum Word: String, Codable, CaseIterable { case one, two }
        struct Nothing: Codable, Hashable {}
        var text: String
        var optional: String?
        var int: Int
        var int64: Int64
        var int32: Int32
        var uint64: UInt64
        var real: Double
        var flag: Bool
        var data: Data
        var inner: Inner
        var inners: [Inner]
        var map: [String: Int64]
        var nested: [[Int]]
        var word: Word
        var empty: Nothing
    }

    /// The same values for the same seed: a failure comes again.
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    static func text(_ random: inout Generator) -> String {
        let alphabet: [Character] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\u{0}", "\u{1}", "\u{8}", "\u{c}", "\n", "\r", "\t", "\u{1f}",
            "\u{7f}", "é", "e\u{301}",
            "ß", "€", "\u{2028}", "\u{ffff}", "😀", "🇩🇪", "\u{10ffff}",
        ]
        return String((0..<Int.random(in: 0...24, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }

    static func number(_ random: inout Generator) -> Int64 {
        [
            0, -1, .max, .min, Int64.random(in: .min ... .max, using: &random),
            Int64.random(in: -99...99, using: &random),
        ]
        .randomElement(using: &random)!
    }

    static func real(_ random: inout Generator) -> Double {
        [
            0, -0.5, 1, 1e20, 1e-20, .pi, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 812_345_678.901_234,
            Double.random(in: -1e9...1e9, using: &random),
        ].randomElement(using: &random)!
    }

    static func data(_ random: inout Generator) -> Data {
        Data((0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    static func sample(_ random: inout Generator) -> Sample {
        func inner(_ random: inout Generator) -> Sample.Inner {
            .init(
                flag: .random(using: &random),
                list: (0..<Int.random(in: 0...3, using: &random)).map { _ in text(&random) })
        }
        var map: [String: Int64] = [:]
        for _ in 0..<Int.random(in: 0...20, using: &random) { map[text(&random)] = number(&random) }
        return Sample(
            text: text(&random), optional: .random(using: &random) ? text(&random) : nil, int: Int(number(&random)),
            int64: number(&random), int32: Int32(truncatingIfNeeded: number(&random)),
            uint64: UInt64(bitPattern: number(&random)), real: real(&random),
            flag: .random(using: &random), data: data(&random), inner: inner(&random),
            inners: (0..<Int.random(in: 0...3, using: &random)).map { _ in inner(&random) }, map: map,
            nested: [[], [1, -2], [Int(number(&random))]], word: Sample.Word.allCases.randomElement(using: &random)!,
            empty: .init())
    }

    @Test(arguments: 0..<400) func whatWeWriteFoundationReads(seed: Int) throws {
        var random = Generator(state: UInt64(seed))
        let sample = Self.sample(&random)
        let json = try JSONOutput.encode(sample)
        #expect(try JSONDecoder().decode(Sample.self, from: json) == sample)
        #expect(try MessageDecoder.decode(Sample.self, from: json) == sample)
        #expect(!json.contains(0))
    }

    @Test(arguments: 0..<400) func whatFoundationWritesWeRead(seed: Int) throws {
        var random = Generator(state: UInt64(seed))
        let sample = Self.sample(&random)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [[], .prettyPrinted, [.sortedKeys, .withoutEscapingSlashes]][seed % 3]
        #expect(try MessageDecoder.decode(Sample.self, from: encoder.encode(sample)) == sample)
    }

    // MARK: what is refused

    private struct One: MessageCodable {
        var a: Int64?
        init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            a = try json.valueIfPresent("a")
        }
        func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(a, for: "a")
            json.endObject()
        }
    }

    @Test(
        arguments: [
            "", " ", "{", "}", "[", "]", "{]", "[}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "[,]", "[1,]",
            "{\"a\" 1}", "{a:1}",
            "{'a':1}", "{\"a\":1}}", "{\"a\":1} x", "{\"a\":tru}", "{\"a\":True}", "{\"a\":nul}", "{\"a\":NaN}",
            "{\"a\":Infinity}",
            "{\"a\":01}", "{\"a\":+1}", "{\"a\":-}", "{\"a\":.5}", "{\"a\":1.}", "{\"a\":1e}", "{\"a\":0x1}",
            "{\"a\":\"\u{1}\"}",
            "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\",
            "{\"a\":\"\\u", "{\"a\":\"",
            "{\"a\":\"\\ud800\"}", "{\"a\":\"\\ud800x\"}", "{\"a\":\"\\ud800\\n\"}", "{\"a\":\"\\ud800\\ud800\"}",
            "{\"a\":\"\\udc00\"}",
            "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":1}", "{\"b\":{\"c\":1,\"d\":2,\"c\":3}}", "// a\n1", "\u{FEFF}1",
        ])
    func whatIsNoJSONIsRefused(_ text: String) {
        #expect(throws: JSONText.Malformed.self) { try JSONText(Data(text.utf8)) }
    }

    @Test func everyWayNotToBeUTF8IsRefused() {
        // Lone and missing continuations, overlong forms, surrogates, beyond the last character, ends in the middle.
        let wrong: [[UInt8]] = [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82],
            [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
            [0xF0, 0x9F, 0x98, 0x28], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ]
        for bytes in wrong {
            #expect(String(validating: bytes, as: UTF8.self) == nil)
            #expect(throws: JSONText.Malformed.self) { try JSONText(Data([0x22] + bytes + [0x22])) }
            #expect(throws: JSONText.Malformed.self) { try JSONText(Data([0x22] + bytes)) }
        }
        for character in [
            "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
        ] {
            #expect(throws: Never.self) { try JSONText(Data("\"\(character)\"".utf8)) }
        }
    }

    /// Damaged in one byte, or cut off, a message is read or refused, and nothing else; what is read Foundation reads as the same.
    @Test(arguments: 0..<60) func damagedJSONIsReadOrRefused(seed: Int) throws {
        var random = Generator(state: UInt64(seed))
        let json = try JSONEncoder().encode(Self.sample(&random))
        for index in json.indices {
            var damaged = json
            damaged[index] = UInt8.random(in: 0...255, using: &random)
            if let mine = try? MessageDecoder.decode(Sample.self, from: damaged) {
                let theirs = try? JSONDecoder().decode(Sample.self, from: damaged)
                #expect(theirs == nil || theirs == mine, "\(String(decoding: damaged, as: UTF8.self))")
            }
            #expect((try? MessageDecoder.decode(Sample.self, from: json.prefix(index))) == nil)
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min), ("1.0", 1),
            ("1e2", 100), ("-2.50e1", -25),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1.5", nil), ("1e400", nil), ("1e-400", 0),
            ("1e30", nil),
            ("99999999999999999999999999", nil), ("100000000000000000000e-20", 1), ("100000000000000000000.1e-999", 0),
            ("100000000000000000000e-1", nil),
        ] as [(String, Int64?)])
    func integersFitOrAreRefused(_ text: String, _ number: Int64?) throws {
        let json = Data(#"{"a":\#(text)}"#.utf8)
        if let number {
            #expect(try MessageDecoder.decode(One.self, from: json).a == number)
        } else {
            #expect(throws: DecodingError.self) { try MessageDecoder.decode(One.self, from: json) }
        }
    }

    @Test func everyWidthOfIntegerHasItsEnds() throws {
        func check<T: FixedWidthInteger & MessageCodable>(_ type: T.Type) throws {
            for number in [T.min, 0, T.max] {
                #expect(try MessageDecoder.decode([T].self, from: JSONOutput.encode([number])) == [number])
            }
            for text in ["[\(T.max)0]", "[-\(T.max)0]", "[1\(T.max)]"] {
                #expect(throws: DecodingError.self) { try MessageDecoder.decode([T].self, from: Data(text.utf8)) }
            }
        }
        try check(Int.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(UInt32.self)
        try check(UInt64.self)
        #expect(throws: DecodingError.self) { try MessageDecoder.decode([UInt32].self, from: Data("[-1]".utf8)) }
    }

    @Test(arguments: [".infinity", "nan"]) func whatIsNoNumberIsNotWritten(_ name: String) {
        #expect(throws: EncodingError.self) { try JSONOutput.encode([name == "nan" ? Double.nan : .infinity]) }
    }

    @Test(arguments: ["A", "AA", "AAA", "A===", "====", "AA=A", "AAAA=", "AA==AAAA", "AA A", "AA-_", "AA\\n=="])
    func whatIsNotBase64IsRefused(
        _ text: String
    ) {
        #expect(throws: DecodingError.self) {
            try MessageDecoder.decode([Data].self, from: Data(#"["\#(text)"]"#.utf8))
        }
    }

    @Test func deepAndLongTextsAreReadOrRefusedQuickly() throws {
        let limit = JSONText.maximumDepth
        for (depth, isRead) in [(limit, true), (limit + 1, false), (500_000, false)] {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            #expect(((try? JSONText(Data(text.utf8))) != nil) == isRead)
        }
        let before = processorSeconds()
        do {
            let long = String(repeating: "x", count: 1 << 20)
            #expect(try MessageDecoder.decode([String].self, from: Data("[\"\(long)\"]".utf8)) == [long])
            // As many keys as go into a message, asked for in an order that no cursor likes.
            let keys = (0..<100_000).map { "\"k\($0)\":0" }
            let map = try MessageDecoder.decode([String: Int].self, from: Data("{\(keys.joined(separator: ","))}".utf8))
            #expect(map.count == 100_000)
            _ = try? MessageDecoder.decode(Sample.self, from: Data("{\(keys.joined(separator: ","))}".utf8))
        }
        #expect(processorSeconds() - before < 20)
    }

    @Test func anErrorNamesThePlaceAndNotTheValue() {
        let json = Data(#"{"list":[{},{"k":{"a":"secret"}}]}"#.utf8)
        do {
            _ = try MessageDecoder.decode([String: [[String: One]]].self, from: json)
            Issue.record("it was read")
        } catch DecodingError.typeMismatch(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["list", "Index 1", "k", "a"])
            #expect(!"\(context)".contains("secret"))
        } catch {
            Issue.record("\(error)")
        }
    }
}

extension MessageCodingTests.Sample.Word: MessageCodable {}
extension MessageCodingTests.Sample.Nothing: EmptyMessage {}

extension MessageCodingTests.Sample.Inner: MessageCodable {
    init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        self.init(flag: try json.value("flag"), list: try json.value("list"))
    }

    func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(flag, for: "flag")
        try json.write(list, for: "list")
        json.endObject()
    }
}

extension MessageCodingTests.Sample: MessageCodable {
    init(from json: MessageDecoder) throws {
        try json.checkIsObject()
        self.init(
            text: try json.value("text"), optional: try json.valueIfPresent("optional"), int: try json.value("int"),
            int64: try json.value("int64"), int32: try json.value("int32"), uint64: try json.value("uint64"),
            real: try json.value("real"), flag: try json.value("flag"), data: try json.value("data"),
            inner: try json.value("inner"), inners: try json.value("inners"), map: try json.value("map"),
            nested: try json.value("nested"), word: try json.value("word"), empty: try json.value("empty"))
    }

    func write(to json: inout JSONOutput) throws {
        json.beginObject()
        try json.write(text, for: "text")
        try json.write(optional, for: "optional")
        try json.write(int, for: "int")
        try json.write(int64, for: "int64")
        try json.write(int32, for: "int32")
        try json.write(uint64, for: "uint64")
        try json.write(real, for: "real")
        try json.write(flag, for: "flag")
        try json.write(data, for: "data")
        try json.write(inner, for: "inner")
        try json.write(inners, for: "inners")
        try json.write(map, for: "map")
        try json.write(nested, for: "nested")
        try json.write(word, for: "word")
        try json.write(empty, for: "empty")
        json.endObject()
    }
}

/// Of this thread: what other threads do meanwhile does not count.
private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
