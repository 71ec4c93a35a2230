import Crypto
import Foundation
import Testing

@testable import TouchstoneSignInServer

/// NP-16: a signature has one form.
@Suite struct StrictSignatureTests {
    /// SEQUENCE of two INTEGERs with these contents, whatever they are.
    static func der(_ r: [UInt8], _ s: [UInt8]) -> Data {
        let body = [0x02, UInt8(r.count)] + r + [0x02, UInt8(s.count)] + s
        return Data([0x30, UInt8(body.count)] + body)
    }

    static let order = [0] + StrictSignature.order
    static let beforeOrder = Array(order.dropLast()) + [0x50]
    static let one: [UInt8] = [1]

    @Test func wellFormedSignatureIsRead() throws {
        #expect(StrictSignature(der: Self.der(Self.one, Self.one)) != nil)
        #expect(StrictSignature(der: Self.der(Self.beforeOrder, Self.beforeOrder)) != nil)
        #expect(StrictSignature(der: Self.der([0, 0x80], [0x7F])) != nil)
        for _ in 0..<200 {
            let signature = try P256.Signing.PrivateKey().signature(for: Data("x".utf8))
            let read = try #require(StrictSignature(der: signature.derRepresentation))
            #expect(read.value.rawRepresentation == signature.rawRepresentation)
        }
    }

    static let malformed: [(String, Data)] = [
        ("empty", Data()),
        ("nothing in it", Data([0x30, 0])),
        ("r is zero", der([0], one)),
        ("s is zero", der(one, [0])),
        ("r is n", der(order, one)),
        ("s is n", der(one, order)),
        ("r is greater than n", der([0] + [UInt8](repeating: 0xFF, count: 32), one)),
        ("r is negative", der([0xFF], one)),
        ("s is negative", der(one, [0x80, 1])),
        ("r is not minimal", der([0, 1], one)),
        ("s is not minimal", der(one, [0, 0x7F])),
        ("r is empty", der([], one)),
        ("r is 33 bytes", der([UInt8](repeating: 1, count: 33), one)),
        ("s is 34 bytes", der(one, [0] + [UInt8](repeating: 0xFF, count: 33))),
        ("a byte follows", der(one, one) + [0]),
        ("a byte in the sequence follows", Data([0x30, 7, 2, 1, 1, 2, 1, 1, 0])),
        ("a third integer", Data([0x30, 9, 2, 1, 1, 2, 1, 1, 2, 1, 1])),
        ("one integer", Data([0x30, 3, 2, 1, 1])),
        ("long form of a length", Data([0x30, 0x81, 6, 2, 1, 1, 2, 1, 1])),
        ("long form of an integer's length", Data([0x30, 7, 2, 0x81, 1, 1, 2, 1, 1])),
        ("indefinite length", Data([0x30, 0x80, 2, 1, 1, 2, 1, 1, 0, 0])),
        ("a set", Data([0x31, 6, 2, 1, 1, 2, 1, 1])),
        ("an octet string", Data([0x30, 6, 4, 1, 1, 2, 1, 1])),
        ("cut off", Data([0x30, 6, 2, 1, 1, 2, 1])),
        ("raw", Data(repeating: 1, count: 64)),
    ]

    @Test(arguments: malformed)
    func malformedSignatureIsNot(_ name: String, _ bytes: Data) {
        #expect(StrictSignature(der: bytes) == nil)
    }
}
