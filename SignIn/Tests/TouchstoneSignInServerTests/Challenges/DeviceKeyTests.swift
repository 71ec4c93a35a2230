import Crypto
import Foundation
import Testing

@testable import TouchstoneSignInServer

/// NP-03, NP-16: a key has one form, and is on the curve.
@Suite struct DeviceKeyTests {
    static let key = P256.Signing.PrivateKey().publicKey

    static func pem(_ der: Data) -> String {
        "-----BEGIN PUBLIC KEY-----\n\(der.base64EncodedString(options: .lineLength64Characters))\n-----END PUBLIC KEY-----"
    }

    /// The key's DER with other bytes at its end, where the point is.
    static func changed(_ change: (inout Data) -> Void) -> Data {
        var der = key.derRepresentation
        change(&der)
        return der
    }

    @Test func subjectPublicKeyInfoIsRead() throws {
        let key = try #require(DeviceKey(pem: Self.key.pemRepresentation))
        #expect(key.der == Self.key.derRepresentation)
        #expect(key.id == Data(SHA256.hash(data: Self.key.derRepresentation)))
        #expect(DeviceKey(der: key.der)?.id == key.id)
        // OpenSSL ends its files with a line break.
        #expect(DeviceKey(pem: Self.key.pemRepresentation + "\n") != nil)
    }

    static let wrong: [(String, Data)] = [
        ("not on the curve", changed { $0[$0.count - 1] ^= 1 }),
        ("infinity", changed { $0.replaceSubrange(($0.count - 64)..., with: Data(count: 64)) }),
        (
            "x beyond the field",
            changed { $0.replaceSubrange(($0.count - 64)..<($0.count - 32), with: Data(repeating: 0xFF, count: 32)) }
        ),
        ("hybrid point", changed { $0[$0.count - 65] = 6 }),
        ("a byte follows", key.derRepresentation + [0]),
        ("cut off", key.derRepresentation.dropLast()),
        ("P-384", P384.Signing.PrivateKey().publicKey.derRepresentation),
        ("P-521", P521.Signing.PrivateKey().publicKey.derRepresentation),
        (
            "Ed25519",
            Data([0x30, 0x2A, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 3, 0x21, 0])
                + Curve25519.Signing.PrivateKey().publicKey.rawRepresentation
        ),
        (
            "compressed",
            Data([
                0x30, 0x39, 0x30, 0x13, 6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3,
                1, 7, 3, 0x22, 0,
            ]) + key.compressedRepresentation
        ),
        ("a private key", P256.Signing.PrivateKey().derRepresentation),
    ]

    @Test(arguments: wrong)
    func anythingElseIsNot(_ name: String, _ der: Data) {
        #expect(DeviceKey(pem: Self.pem(der)) == nil)
        #expect(DeviceKey(der: der) == nil)
    }

    @Test func textAroundThePEMIsNotTaken() {
        let pem = Self.key.pemRepresentation
        #expect(DeviceKey(pem: "x\n" + pem) == nil)
        #expect(DeviceKey(pem: pem + "\n" + pem) == nil)
        #expect(DeviceKey(pem: pem.replacing("PUBLIC KEY", with: "EC PUBLIC KEY")) == nil)
        #expect(DeviceKey(pem: "") == nil)
    }
}
