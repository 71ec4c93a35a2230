import Testing
import TouchstoneCBOR

/// Values and bytes of RFC 8949's appendix A, and what CTAP2's canonical form refuses (FD-8).
@Suite struct CBORTests {
    static let vectors: [(CBOR, [UInt8])] = [
        (.unsigned(0), [0x00]), (.unsigned(1), [0x01]), (.unsigned(10), [0x0A]), (.unsigned(23), [0x17]),
        (.unsigned(24), [0x18, 0x18]), (.unsigned(25), [0x18, 0x19]), (.unsigned(100), [0x18, 0x64]),
        (.unsigned(1000), [0x19, 0x03, 0xE8]), (.unsigned(1_000_000), [0x1A, 0x00, 0x0F, 0x42, 0x40]),
        (.unsigned(1_000_000_000_000), [0x1B, 0x00, 0x00, 0x00, 0xE8, 0xD4, 0xA5, 0x10, 0x00]),
        (.unsigned(.max), [0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (.negative(.max), [0x3B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (CBOR(-1), [0x20]), (CBOR(-10), [0x29]), (CBOR(-100), [0x38, 0x63]), (CBOR(-1000), [0x39, 0x03, 0xE7]),
        (.boolean(false), [0xF4]), (.boolean(true), [0xF5]),
        (.bytes([]), [0x40]), (.bytes([1, 2, 3, 4]), [0x44, 1, 2, 3, 4]),
        (.text(""), [0x60]), (.text("IETF"), [0x64, 0x49, 0x45, 0x54, 0x46]), (.text("\u{FC}"), [0x62, 0xC3, 0xBC]),
        (.text("\u{10151}"), [0x64, 0xF0, 0x90, 0x85, 0x91]),
        (.array([]), [0x80]), (.array([CBOR(1), CBOR(2), CBOR(3)]), [0x83, 1, 2, 3]),
        (
            .array([CBOR(1), .array([CBOR(2), CBOR(3)]), .array([CBOR(4), CBOR(5)])]),
            [0x83, 1, 0x82, 2, 3, 0x82, 4, 5]
        ),
        (.map([:]), [0xA0]), (.map([CBOR(1): CBOR(2), CBOR(3): CBOR(4)]), [0xA2, 1, 2, 3, 4]),
        (
            .map([.text("a"): CBOR(1), .text("b"): .array([CBOR(2), CBOR(3)])]),
            [0xA2, 0x61, 0x61, 1, 0x61, 0x62, 0x82, 2, 3]
        ),
    ]

    @Test(arguments: vectors) func aVectorIsReadAndWritten(value: CBOR, bytes: [UInt8]) throws {
        #expect(value.encoded == bytes)
        #expect(try CBOR(bytes) == value)
        // Nothing may stand behind it, and nothing may be missing.
        #expect(throws: MalformedCBOR.self) { try CBOR(bytes + [0]) }
        #expect(throws: MalformedCBOR.self) { try CBOR(Array(bytes.dropLast())) }
    }

    @Test(
        arguments: [
            [0x18, 0x17], [0x19, 0x00, 0xFF], [0x1A, 0x00, 0x00, 0xFF, 0xFF], [0x58, 0x01, 0x00], [0xF8, 0x14],
            // Without a length, as a tag, a float, null, undefined.
            [0x5F, 0x41, 0x00, 0xFF], [0x9F, 0xFF], [0xBF, 0xFF], [0xC0, 0x00], [0xF9, 0x00, 0x00], [0xF6], [0xF7],
            [0xFB, 0, 0, 0, 0, 0, 0, 0, 0], [0x1C], [0xFF],
            // Longer than there are bytes.
            [0x9B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0xBB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0],
            [0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0], [0x44, 1, 2],
            // Text that is not UTF-8.
            [0x61, 0xFF], [0x62, 0xC0, 0x80],
            // Keys in another order, or twice: 2 before 1; text before a number; the longer one first.
            [0xA2, 2, 0, 1, 0], [0xA2, 1, 0, 1, 0], [0xA2, 0x61, 0x61, 0, 1, 0],
            [0xA2, 0x62, 0x61, 0x61, 0, 0x61, 0x62, 0],
            [0xA2, 0x20, 0, 0x18, 0x18, 0],
            // é once as one scalar and once as two: the same text for Swift.
            [0xA2, 0x62, 0xC3, 0xA9, 0, 0x63, 0x65, 0xCC, 0x81, 0],
        ] as [[UInt8]]) func anotherFormIsRefused(_ bytes: [UInt8])
    {
        #expect(throws: MalformedCBOR.self) { try CBOR(bytes) }
    }

    @Test func keysAreWrittenByKindThenLengthThenBytes() {
        let map: CBOR = .map([
            .text("b"): CBOR(1), .text("aa"): CBOR(2), CBOR(-1): CBOR(3), CBOR(24): CBOR(4), CBOR(2): CBOR(5),
            .text("a"): CBOR(6),
        ])
        #expect(map.encoded == [0xA6, 2, 5, 0x18, 24, 4, 0x20, 3, 0x61, 0x61, 6, 0x61, 0x62, 1, 0x62, 0x61, 0x61, 2])
    }

    @Test func fourLevelsAreRead() throws {
        #expect(try CBOR([0x81, 0x81, 0x81, 0x81, 0x00]).encoded == [0x81, 0x81, 0x81, 0x81, 0x00])
    }

    @Test func fiveLevelsAreRefused() {
        #expect(throws: MalformedCBOR.self) { try CBOR([0x81, 0x81, 0x81, 0x81, 0x80]) }
        #expect(throws: MalformedCBOR.self) { try CBOR([UInt8](repeating: 0x81, count: 7608) + [0]) }
    }

    @Test func whatIsBehindAValueIsLeft() throws {
        var bytes: ArraySlice<UInt8> = [0x82, 1, 2, 9, 9][...]
        #expect(try CBOR(takenFrom: &bytes) == .array([CBOR(1), CBOR(2)]))
        #expect(Array(bytes) == [9, 9])
    }

    @Test func afterAnErrorTheBytesAreAsTheyWere() {
        var bytes: ArraySlice<UInt8> = [0x82, 1][...]
        #expect(throws: MalformedCBOR.self) { try CBOR(takenFrom: &bytes) }
        #expect(Array(bytes) == [0x82, 1])
    }
}
