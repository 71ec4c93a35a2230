internal import CNettle
internal import Crypto
internal import Foundation
internal import TouchstoneCore

/// A point of a curve that swift-crypto has not: P-192 or P-224.
///
/// Such a key is there for old data. It verifies; nothing is encrypted to it.
package struct OldCurvePublicKey: Hashable, Sendable {
    package let curve: EllipticCurve

    /// `X ‖ Y`.
    private let coordinates: Data

    /// Reads `04 ‖ X ‖ Y`.
    ///
    /// - Throws: `errSecParam` for another length or curve, and for what is not a point of the curve.
    init(_ curve: EllipticCurve, x963Representation bytes: Data) throws(Status) {
        guard bytes.count == 1 + 2 * curve.fieldSize, bytes.first == 4 else { throw .param }
        try self.init(curve, coordinates: Data(bytes.dropFirst()))
    }

    fileprivate init(_ curve: EllipticCurve, coordinates: Data) throws(Status) {
        let isPoint = unsafe coordinates.withUnsafeBytes {
            unsafe touchstone_is_point(UInt32(curve.sizeInBits), $0.bytes, curve.fieldSize)
        }
        guard isPoint else { throw .param }
        self.curve = curve
        self.coordinates = coordinates
    }

    var x963Representation: Data { Data([4]) + coordinates }

    /// Whether a signature is that of this key; a digest longer than the curve is cut to its left bits (SE-21).
    func isValidSignature(_ signature: Data, for digest: Data, _ encoding: ECDSASignatureEncoding) -> Bool {
        let size = curve.fieldSize
        let numbers =
            switch encoding {
            case .x962: DERSignature.numbers(signature, byteCount: size)
            case .rfc4754: signature
            }
        guard let numbers, numbers.count == 2 * size else { return false }
        return unsafe coordinates.withUnsafeBytes { point in
            unsafe numbers.withUnsafeBytes { numbers in
                unsafe digest.withUnsafeBytes { digest in
                    unsafe touchstone_verify(
                        UInt32(curve.sizeInBits), point.bytes, numbers.bytes, size, digest.bytes, digest.count)
                }
            }
        }
    }

    /// The point that a number makes of this one.
    fileprivate func multiplied(by number: SymmetricKey) -> Data? {
        unsafe coordinates.withUnsafeBytes { unsafe curve.product($0.bytes, number) }
    }
}

/// A number and the point of P-192 or P-224 that it leads to.
///
/// Such a key is there for old data. It decrypts and agrees on secrets; it signs nothing, and none is made.
package struct OldCurvePrivateKey: Sendable {
    package let publicKey: OldCurvePublicKey

    /// K, in memory that is zeroed when it goes.
    private let number: SymmetricKey

    /// Reads `04 ‖ X ‖ Y ‖ K`.
    ///
    /// - Throws: `errSecParam` for another length or curve, and where K does not lead to the point.
    init(_ curve: EllipticCurve, x963Representation bytes: Data) throws(Status) {
        let size = curve.fieldSize
        guard bytes.count == 1 + 3 * size else { throw .param }
        let point = try OldCurvePublicKey(curve, x963Representation: Data(bytes.prefix(1 + 2 * size)))
        try self.init(curve, number: bytes.suffix(size))
        guard publicKey == point else { throw .param }
    }

    /// Takes K, as long as a coordinate.
    ///
    /// - Throws: `errSecParam` for another length or curve, and where K is 0 or too large.
    init(_ curve: EllipticCurve, number: some ContiguousBytes) throws(Status) {
        self.number = SymmetricKey(data: number)
        guard self.number.bitCount == 8 * curve.fieldSize,
            let coordinates = unsafe curve.product(nil, self.number)
        else { throw .param }
        publicKey = try OldCurvePublicKey(curve, coordinates: coordinates)
    }

    /// Whoever asks erases it.
    var x963Representation: Data { unsafe publicKey.x963Representation + number.withUnsafeBytes { unsafe Data($0) } }

    /// The coordinate Z that this key and another's point share.
    ///
    /// - Throws: `errSecParam` for a point of another curve.
    func sharedSecret(with other: OldCurvePublicKey) throws(Status) -> SymmetricKey {
        guard other.curve == publicKey.curve, var product = other.multiplied(by: number) else { throw .param }
        defer { product.erase() }
        return SymmetricKey(data: product.prefix(other.curve.fieldSize))
    }
}

extension EllipticCurve {
    /// A number, as long as a coordinate, times a point, or times the generator; nil for a number that is 0 or too large.
    fileprivate func product(_ point: UnsafePointer<UInt8>?, _ number: SymmetricKey) -> Data? {
        var product = Data(count: 2 * fieldSize)
        let isDone = unsafe product.withUnsafeMutableBytes { product in
            unsafe number.withUnsafeBytes { number in
                unsafe touchstone_multiply(
                    product.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(sizeInBits), number.bytes, point,
                    fieldSize)
            }
        }
        return isDone ? product : nil
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var bytes: UnsafePointer<UInt8>? { unsafe baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

/// The DER of a signature: a sequence of r and s.
private enum DERSignature {
    /// Reads what DER allows and nothing else.
    ///
    /// - Parameters:
    ///   - der: The signature.
    ///   - byteCount: Those of each number, less than 61, so that no length has more than one byte.
    /// - Returns: `r ‖ s`; nil for what is not a signature, and for a number that is longer.
    static func numbers(_ der: Data, byteCount: Int) -> Data? {
        var rest = der[...]
        guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80, rest.count == Int(length),
            let r = integer(&rest, byteCount), let s = integer(&rest, byteCount), rest.isEmpty
        else { return nil }
        return r + s
    }

    private static func integer(_ rest: inout Data.SubSequence, _ byteCount: Int) -> Data? {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), length > 0, length <= byteCount + 1,
            rest.count >= Int(length)
        else { return nil }
        var bytes = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
        // No number below zero, and a zero in front only where the next bit needs it.
        guard let first = bytes.first, first < 0x80 else { return nil }
        if first == 0, bytes.count > 1 {
            bytes = bytes.dropFirst()
            guard let second = bytes.first, second >= 0x80 else { return nil }
        }
        guard bytes.count <= byteCount else { return nil }
        return Data(count: byteCount - bytes.count) + bytes
    }
}
