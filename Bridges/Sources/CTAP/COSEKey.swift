internal import TouchstoneCBOR

/// Public keys as COSE has them: kind 1, algorithm 3, curve -1, coordinates -2 and -3.
enum COSEKey {
    private static let ellipticCurve = 2
    private static let p256 = 1
    /// ECDH-ES and HKDF-256, which CTAP has stand there.
    static let agreement = -25

    /// A key for COSE.
    ///
    /// - Parameters:
    ///   - point: Uncompressed, 65 bytes.
    ///   - algorithm: COSE's number of what the key is for.
    /// - Returns: The map of COSE.
    static func key(_ point: [UInt8], algorithm: Int) -> CBOR {
        .entries([
            (1, CBOR(ellipticCurve)), (3, CBOR(algorithm)), (-1, CBOR(p256)), (-2, .data(point[1..<33])),
            (-3, .data(point[33..<65])),
        ])
    }

    /// The uncompressed point of a key of P-256, which may not be on the curve.
    static func point(_ value: CBOR) throws(CTAPStatus) -> [UInt8] {
        let fields = try Parameters(value)
        guard try fields.needed(1).asNumber() == ellipticCurve, try fields.needed(-1).asNumber() == p256 else {
            throw .invalidParameter
        }
        return try [4] + fields.needed(-2).asBytes(32...32) + fields.needed(-3).asBytes(32...32)
    }
}
