internal import CTSS
import Foundation
import TouchstoneMemory

/// P-256 keys that are made in the TPM and used there.
extension TPMConnection {
    private static let coordinateBytes = 32

    /// A new key, which `value` authorizes, and its point, uncompressed.
    func makeKey(under value: SecretBytes) throws(TPMError) -> (object: SealedObject, point: Data) {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { unsafe withUnsafeMutableBytes(of: &sensitive) { unsafe explicit_bzero($0.baseAddress!, $0.count) } }
        sensitive.sensitive.userAuth = Self.authorization(value)
        var template = TOUCHSTONE_KEY
        let made = try create(&template, &sensitive)
        var point = unsafe made.area.unique.ecc
        return (made.object, try Data([4]) + coordinate(&point.x) + coordinate(&point.y))
    }

    /// r and s of a digest of 32 bytes.
    func sign(_ digest: Data, _ object: SealedObject, value: SecretBytes) throws(TPMError) -> Data {
        let handle = try load(object)
        defer { flush(handle) }
        try authorize(handle, value)
        var given = TPM2B_DIGEST()
        given.size = UInt16(digest.count)
        unsafe withUnsafeMutableBytes(of: &given.buffer) { unsafe $0.copyBytes(from: digest) }
        var scheme = TOUCHSTONE_SIGNATURE
        var ticket = TOUCHSTONE_NO_TICKET
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        defer { unsafe Esys_Free(signature) }
        try encrypt(command: true, answer: false)
        try command {
            unsafe Esys_Sign(
                context, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &given, &scheme, &ticket, &signature)
        }
        var made = unsafe signature!.pointee.signature.ecdsa
        return try coordinate(&made.signatureR) + coordinate(&made.signatureS)
    }

    /// The coordinate x of ECDH with a point of the curve, uncompressed.
    func exchange(_ point: Data, _ object: SealedObject, value: SecretBytes) throws(TPMError) -> SecretBytes {
        let handle = try load(object)
        defer { flush(handle) }
        try authorize(handle, value)
        var given = TPM2B_ECC_POINT()
        given.point.x.size = UInt16(Self.coordinateBytes)
        given.point.y.size = UInt16(Self.coordinateBytes)
        let coordinates = point.dropFirst()
        unsafe withUnsafeMutableBytes(of: &given.point.x.buffer) {
            unsafe $0.copyBytes(from: coordinates.prefix(Self.coordinateBytes))
        }
        unsafe withUnsafeMutableBytes(of: &given.point.y.buffer) {
            unsafe $0.copyBytes(from: coordinates.suffix(Self.coordinateBytes))
        }
        var shared: UnsafeMutablePointer<TPM2B_ECC_POINT>?
        defer {
            if let shared = unsafe shared { unsafe explicit_bzero(shared, MemoryLayout<TPM2B_ECC_POINT>.size) }
            unsafe Esys_Free(shared)
        }
        try encrypt(command: true, answer: true)
        try command {
            unsafe Esys_ECDH_ZGen(context, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &given, &shared)
        }
        var secret = unsafe try coordinate(&shared!.pointee.point.x)
        defer { secret.resetBytes(in: 0..<secret.count) }
        return SecretBytes(secret)
    }

    /// 32 bytes: a TPM may leave leading zeros away.
    private func coordinate(_ number: inout TPM2B_ECC_PARAMETER) throws(TPMError) -> Data {
        let count = Int(number.size)
        guard count <= Self.coordinateBytes else { throw fail(.tampered) }
        return unsafe withUnsafeBytes(of: &number.buffer) {
            unsafe Data(count: Self.coordinateBytes - count) + Data($0.prefix(count))
        }
    }
}
