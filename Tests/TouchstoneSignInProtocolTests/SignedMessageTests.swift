import Foundation
import Testing
import TouchstoneSignInProtocol

@Suite struct SignedMessageTests {
    private let message = SignedMessage(
        purpose: .confirmTransaction, audience: "example.org:8443", application: "touchstone-login",
        keyID: Data(repeating: 1, count: 32), userHandle: Data(repeating: 2, count: 16),
        challenge: Data(repeating: 3, count: 32), clientNonce: Data(repeating: 4, count: 32),
        counter: 0x0102_0304_0506_0708,
        issuedAt: 1_795_000_000, detailsHash: Data(repeating: 5, count: 32))

    private func failure(_ bytes: Data) -> SignInFormatError? {
        do throws(SignInFormatError) {
            _ = try SignedMessage(bytes: bytes)
            return nil
        } catch {
            return error
        }
    }

    /// A message by hand, from its fields.
    private func bytes(_ fields: [Data], version: UInt8 = 1, magic: String = "LASIGN") -> Data {
        var bytes = Data(magic.utf8) + [version]
        for field in fields {
            bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: field.count >> (8 * $0)) }
            bytes += field
        }
        return bytes
    }

    private var fields: [Data] {
        [
            Data("confirm-transaction".utf8), Data("example.org:8443".utf8), Data("touchstone-login".utf8),
            message.keyID, message.userHandle, message.challenge, message.clientNonce, Data([1, 2, 3, 4, 5, 6, 7, 8]),
            Data([0, 0, 0, 0, 0x6A, 0xFD, 0x80, 0xC0]), message.detailsHash,
        ]
    }

    @Test("NP-12: the bytes are those of the table in docs/sign-in.md")
    func layout() throws {
        var message = message
        message.issuedAt = 0x6AFD_80C0
        #expect(message.bytes == bytes(fields))
        #expect(try SignedMessage(bytes: bytes(fields)) == message)
    }

    @Test("NP-13: each purpose comes back as itself", arguments: Purpose.allCases)
    func roundTrip(purpose: Purpose) throws {
        var message = message
        message.purpose = purpose
        message.audience = "b\u{FC}cher.example"
        message.counter = .max
        message.issuedAt = 0
        #expect(try SignedMessage(bytes: message.bytes) == message)
        // A slice has other indices than its bytes.
        #expect(try SignedMessage(bytes: (Data([9, 9]) + message.bytes).dropFirst(2)) == message)
    }

    @Test("NP-12: another version, an unknown purpose, and too many or too few bytes are refused")
    func refusals() {
        #expect(failure(bytes(fields)) == nil)
        #expect(failure(bytes(fields, magic: "LASIGM")) == .noMagic)
        #expect(failure(Data()) == .noMagic)
        #expect(failure(Data("LASIGN".utf8)) == .truncated)
        #expect(failure(bytes(fields, version: 2)) == .version(2))
        #expect(failure(bytes(fields) + [0]) == .trailingBytes)
        #expect(failure(bytes(fields + [Data()])) == .trailingBytes)
        #expect(failure(bytes(fields.dropLast())) == .truncated)
        for purpose in ["", "sign-out", "SIGN-IN", "sign-in\0", String(repeating: "r", count: 33)] {
            let refused = failure(bytes([Data(purpose.utf8)] + fields.dropFirst()))
            #expect(refused == .purpose || refused == .length, "\(purpose)")
        }
        #expect(failure(Data(repeating: 0, count: SignedMessage.maximumLength + 1)) == .tooLong)
    }

    @Test("NP-12: a message that ends anywhere before its end is refused")
    func everyPrefix() {
        let whole = message.bytes
        for count in 0..<whole.count { #expect(failure(whole.prefix(count)) != nil, "\(count)") }
    }

    @Test("NP-12: each field has its own length, and no other", arguments: [3, 4, 5, 6, 7, 8, 9])
    func lengths(index: Int) {
        for change in [-1, 1] {
            var fields = fields
            fields[index] = Data(repeating: 7, count: fields[index].count + change)
            #expect(failure(bytes(fields)) == .length)
        }
    }

    @Test("NP-14: audience and application have 1 to 255 bytes of UTF-8", arguments: [1, 2])
    func names(index: Int) {
        for (name, expected) in [
            (Data(), .length), (Data(repeating: 0x61, count: 256), .length), (Data([0xFF]), .notUTF8),
            (Data([0xC0, 0xAF]), .notUTF8), (Data(repeating: 0x61, count: 255), nil), (Data([0x61]), nil),
        ] as [(Data, SignInFormatError?)] {
            var fields = fields
            fields[index] = name
            #expect(failure(bytes(fields)) == expected, "\(name.count)")
        }
    }

    @Test("a length that says more than there is does not read beyond, however large")
    func hugeLength() {
        var whole = message.bytes
        for offset in 7..<11 { whole[offset] = 0xFF }
        #expect(failure(whole) == .length)
    }

    @Test("two names that run together are not two others: lengths tell fields apart")
    func boundaries() {
        var other = message
        other.audience = "example.org:844"
        other.application = "3touchstone-login"
        #expect(other.bytes != message.bytes)
    }
}
