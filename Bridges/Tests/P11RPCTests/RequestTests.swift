import P11RPC
import Testing

/// Bytes as a client writes them.
struct Bytes {
    var all: [UInt8] = []

    static func body(_ call: UInt32, _ signature: String) -> Bytes {
        Bytes().word(call).string(signature)
    }

    func byte(_ value: UInt8) -> Bytes { Bytes(all: all + [value]) }
    func word(_ value: UInt32) -> Bytes {
        Bytes(all: all + (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) })
    }
    func number(_ value: UInt64) -> Bytes { word(UInt32(value >> 32)).word(UInt32(truncatingIfNeeded: value)) }
    func string(_ value: String) -> Bytes { string(Array(value.utf8)) }
    func string(_ value: [UInt8]) -> Bytes { Bytes(all: word(UInt32(value.count)).all + value) }
    func list(_ value: [UInt8]) -> Bytes { byte(1).string(value) }

    static let handshake = body(1, "ayyay").list(Array("PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1".utf8)).byte(0).list([
        0
    ])
}

private func read(_ bytes: Bytes) throws -> Request { try Request.read(bytes.all).request }

@Suite("PK-4: requests of p11-kit's clients")
struct RequestTests {
    @Test("what every client begins with is read, and another handshake is not")
    func handshake() throws {
        #expect(try read(.handshake) == .initialize)
        let other = Bytes.body(1, "ayyay").list(Array("PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-2".utf8)).byte(0).list([
            0
        ])
        #expect(throws: ReturnValue.deviceError) { try read(other) }
    }

    @Test("numbers, rooms and data are read")
    func values() throws {
        #expect(try read(.body(4, "yfu").byte(1).word(3)) == .getSlotList(room: 3))
        #expect(try read(.body(10, "uu").number(0).number(6)) == .openSession(slot: 0, flags: 6))
        #expect(
            try read(.body(43, "uayfy").number(9).list([1, 2]).word(64)) == .sign(session: 9, data: [1, 2], room: 64))
        // A null pointer of the client's is no data.
        #expect(
            try read(.body(43, "uayfy").number(9).byte(0).word(7).word(0)) == .sign(session: 9, data: [], room: 0))
    }

    @Test("a PIN is in no value (PK-13)")
    func pin() throws {
        let request = try read(.body(18, "uuay").number(1).number(1).list(Array("swordfish".utf8)))
        #expect(request == .login(session: 1, user: 1))
        #expect(!"\(request)".contains("swordfish"))
        #expect(try read(.body(18, "uuay").number(1).number(1).byte(0).word(0)) == .login(session: 1, user: 1))
        #expect(
            try read(.body(66, "uuayay").number(1).number(1).list([1]).list([2])) == .login(session: 1, user: 1))
        #expect(throws: ReturnValue.deviceError) { try read(.body(18, "uuay").number(1).number(1).byte(1).word(9)) }
    }

    @Test("templates hold flags, numbers, bytes and templates")
    func templates() throws {
        let template = Bytes.body(26, "uaA").number(1).word(4)
            .word(0).byte(1).word(8).number(3)
            .word(1).byte(1).word(1).byte(1)
            .word(0x102).byte(1).word(2).string([7, 8])
            .word(0x4000_0211).byte(1).word(24).word(1).word(0x108).byte(1).word(1).byte(0)
        #expect(
            try read(template)
                == .findInit(
                    session: 1,
                    [
                        Attribute(.objectClass, .number(3)), Attribute(.token, .flag(true)),
                        Attribute(.identifier, .bytes([7, 8])),
                        Attribute(
                            Attribute.Kind(rawValue: 0x4000_0211), .attributes([Attribute(.sign, .flag(false))])),
                    ]))
        // Without a value: nothing follows.
        #expect(
            try read(.body(26, "uaA").number(1).word(1).word(0x102).byte(0))
                == .findInit(session: 1, [Attribute(.identifier, nil)]))
    }

    @Test("templates deeper than eight, or with more than 256 attributes, are refused (PK-4)")
    func limits() throws {
        func nested(_ depth: Int) -> Bytes {
            var bytes = Bytes.body(26, "uaA").number(1)
            for _ in 0..<depth { bytes = bytes.word(1).word(0x4000_0211).byte(1).word(24) }
            return bytes.word(0)
        }
        #expect(throws: Never.self) { try read(nested(8)) }
        #expect(throws: ReturnValue.deviceError) { try read(nested(9)) }
        func many(_ count: Int) -> Bytes {
            (0..<count).reduce(Bytes.body(26, "uaA").number(1).word(UInt32(count))) { bytes, _ in bytes.word(1).byte(0)
            }
        }
        #expect(throws: Never.self) { try read(many(256)) }
        #expect(throws: ReturnValue.deviceError) { try read(many(257)) }
        #expect(throws: ReturnValue.deviceError) { try read(.body(26, "uaA").number(1).word(.max)) }
    }

    @Test("mechanisms that are not the token's are known as such, whatever their parameters are")
    func mechanisms() throws {
        #expect(
            try read(.body(42, "uMu").number(1).word(0x1041).word(.max).number(5))
                == .signInit(session: 1, .ecdsa, key: 5))
        #expect(
            try read(.body(42, "uMu").number(1).word(0xD).string([1, 2, 3]).word(9).number(5))
                == .signInit(session: 1, .other(0xD), key: 0))
        #expect(
            try read(.body(42, "uMu").number(1).word(.max).number(5)) == .signInit(session: 1, .none, key: 5))
    }

    @Test("cut requests, and bytes behind one, are no requests", arguments: [0, 3, 4, 11, 20, 30])
    func cut(_ count: Int) {
        let whole = Bytes.body(43, "uayfy").number(9).list([1, 2]).word(64).all
        #expect(throws: ReturnValue.deviceError) { try Request.read(Array(whole.prefix(count))) }
        #expect(throws: ReturnValue.deviceError) { try Request.read(whole + [0]) }
    }

    @Test("another signature than the call has is refused")
    func signature() {
        #expect(throws: ReturnValue.deviceError) { try read(.body(10, "uuu").number(0).number(6)) }
    }

    @Test("calls that the token does not have are refused, and those that nobody knows too")
    func refused() throws {
        #expect(try read(.body(9, "uayz")) == .refused(.functionNotSupported))
        #expect(try read(.body(15, "uayay")) == .refused(.functionNotSupported))
        #expect(try read(.body(20, "uaA")) == .refused(.actionProhibited))
        #expect(try read(.body(22, "uu")) == .refused(.actionProhibited))
        #expect(try read(.body(64, "ufy")) == .refused(.randomNoRNG))
        for number in [0, 68, 1000, UInt32.max] {
            #expect(throws: ReturnValue.functionNotSupported) { try read(.body(number, "")) }
        }
    }

    @Test("every call whose arguments are read has an answer of its signature")
    func everyCall() {
        for call in Call.allCases {
            #expect(call.rawValue == 0x5453_0001 || (1...67).contains(call.rawValue))
        }
        #expect(Call.allCases.count == 68)
    }
}
