import Crypto
import Foundation

/// An ECDSA signature over P-256 in DER, and nothing that only looks like it (NP-16): no other lengths' form, no integer
/// that is negative or longer than it must be, no bytes after it, r and s in 1 to n-1.
struct StrictSignature: Sendable {
    let value: P256.Signing.ECDSASignature

    init?(der: Data) {
        var rest = Array(der)[...]
        // Two integers of 33 bytes at most: the short form of a length is the only one there can be.
        guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80, Int(length) == rest.count,
            let r = Self.integer(&rest), let s = Self.integer(&rest), rest.isEmpty,
            let value = try? P256.Signing.ECDSASignature(rawRepresentation: r + s)
        else { return nil }
        self.value = value
    }

    /// The next integer as 32 bytes.
    private static func integer(_ rest: inout ArraySlice<UInt8>) -> Data? {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), (1...33).contains(length),
            rest.count >= Int(length)
        else { return nil }
        var bytes = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
        guard bytes.first! < 0x80 else { return nil }
        if bytes.count > 1, bytes.first == 0 {
            bytes = bytes.dropFirst()
            guard bytes.first! >= 0x80 else { return nil }
        }
        guard bytes.count <= 32 else { return nil }
        let number = [UInt8](repeating: 0, count: 32 - bytes.count) + bytes
        guard number.contains(where: { $0 != 0 }), number.lexicographicallyPrecedes(order) else { return nil }
        return Data(number)
    }

    /// n of P-256 (SEC 2, 2.4.2).
    static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
}
