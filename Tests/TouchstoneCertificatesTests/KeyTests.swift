import Foundation
import SwiftASN1
import Testing
import TouchstoneCertificates
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneKeyAlgorithms
import TouchstoneTesting

@testable import TouchstoneSecurity

/// Software keys, against OpenSSL's.
@Suite struct KeyTests {
    private let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    private func make(
        _ data: Data, _ type: Any, _ keyClass: Any
    ) -> (SecKey?, OSStatus?) {
        make(data, [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass] as NSDictionary)
    }

    private func make(_ data: Data, _ attributes: NSDictionary) -> (SecKey?, OSStatus?) {
        var error: Unmanaged<CFError>?
        let key = SecKeyCreateWithData(data as CFData, attributes, &error)
        return (key, error.map { OSStatus(($0.takeRetainedValue() as NSError).code) })
    }

    private func random(_ parameters: [CFString: Any]) -> (SecKey?, OSStatus?) {
        var error: Unmanaged<CFError>?
        let key = SecKeyCreateRandomKey(parameters as CFDictionary, &error)
        return (key, error.map { OSStatus(($0.takeRetainedValue() as NSError).code) })
    }

    private func bytes(_ key: SecKey) throws -> Data {
        try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
    }

    private func type(_ algorithm: OpenSSL.Algorithm) -> CFString {
        algorithm.isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeECSECPrimeRandom
    }

    @Test(arguments: OpenSSL.Algorithm.allCases)
    func keysOfOpenSSLAreReadAndComeBackAsTheyWere(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let expected = try openssl.keyBytes(algorithm)
        let size = algorithm.isRSA ? Int(algorithm.rawValue)! : Int(algorithm.rawValue.dropFirst(2))!

        let privateKey = try #require(make(expected.private, type(algorithm), kSecAttrKeyClassPrivate).0)
        #expect(try bytes(privateKey) == expected.private)
        let publicKey = try #require(make(expected.public, type(algorithm), kSecAttrKeyClassPublic).0)
        #expect(try bytes(publicKey) == expected.public)
        #expect(SecKeyCopyPublicKey(privateKey) == publicKey)
        #expect(SecKeyCopyPublicKey(publicKey) == publicKey)
        for key in [privateKey, publicKey] { #expect(SecKeyGetBlockSize(key) == (size + 7) / 8) }

        // The same from numbers instead of constants.
        let number = try #require(Int(type(algorithm) as String))
        #expect(make(expected.private, number, 1).0 == privateKey)
        #expect(make(expected.public, number, 0).0 == publicKey)

        // Each is nothing of another class or type.
        #expect(make(expected.private, type(algorithm), kSecAttrKeyClassPublic) == (nil, errSecParam))
        #expect(make(expected.public, type(algorithm), kSecAttrKeyClassPrivate) == (nil, errSecParam))
        let other = algorithm.isRSA ? kSecAttrKeyTypeEC : kSecAttrKeyTypeRSA
        #expect(make(expected.private, other, kSecAttrKeyClassPrivate) == (nil, errSecParam))
        #expect(make(expected.public, other, kSecAttrKeyClassPublic) == (nil, errSecParam))
    }

    @Test(arguments: OpenSSL.Algorithm.made)
    func keysOfOursAreReadByOpenSSL(_ algorithm: OpenSSL.Algorithm) throws {
        let size = algorithm.isRSA ? Int(algorithm.rawValue)! : Int(algorithm.rawValue.dropFirst(2))!
        let key = try #require(random([kSecAttrKeyType: type(algorithm), kSecAttrKeySizeInBits: size]).0)
        let secret = Array(try bytes(key))
        var der = secret
        if !algorithm.isRSA {
            let field = (size + 7) / 8
            let curve = try #require(EllipticCurve.allCases.first { $0.sizeInBits == size })
            der = sequence(
                primitive(.integer, [1]) + primitive(.octetString, secret.suffix(field))
                    + constructed(.context(0), primitive(.objectIdentifier, curve.objectIdentifier))
                    + constructed(.context(1), primitive(.bitString, [0] + secret.dropLast(field))))
        }
        try openssl.write(Data(der), "ours.der")
        #expect(try openssl("pkey", "-inform", "DER", "-in", "ours.der", "-check", "-noout").contains("valid"))
        try openssl("pkey", "-inform", "DER", "-in", "ours.der", "-pubout", "-outform", "DER", "-out", "public.der")
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(try #require(SubjectPublicKeyInfo(der: openssl["public.der"])).key == bytes(publicKey))
        // Two are never the same.
        #expect(random([kSecAttrKeyType: type(algorithm), kSecAttrKeySizeInBits: size]).0 != key)
    }

    @Test func publicRSAKeyIsAlsoReadFromItsSubjectPublicKeyInfo() throws {
        try openssl.makeKey("one", .rsa2048)
        try openssl("pkey", "-in", "one.key", "-pubout", "-outform", "DER", "-out", "public.der")
        let info = try openssl["public.der"]
        let key = try #require(make(info, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic).0)
        #expect(try bytes(key) == openssl.keyBytes(.rsa2048).public)
        #expect(make(info + [0], kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic) == (nil, errSecParam))
    }

    @Test(arguments: [OpenSSL.Algorithm.p256, .rsa2048])
    func privateKeyInfoIsNotReadAsApplesDoesNot(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        try openssl("pkcs8", "-topk8", "-nocrypt", "-in", "one.key", "-outform", "DER", "-out", "one.p8")
        let info = try openssl["one.p8"]
        #expect(make(info, type(algorithm), kSecAttrKeyClassPrivate) == (nil, errSecParam))
        // A PKCS#12 file has it.
        #expect(
            SoftwareKey(privateKeyInfo: Array(info))?.externalRepresentation()
                == (try openssl.keyBytes(algorithm)).private)
    }

    @Test func typeAndClassAreRequired() throws {
        try openssl.makeKey()
        let key = try openssl.keyBytes(.p256).private
        #expect(make(key, [kSecAttrKeyType: kSecAttrKeyTypeEC] as NSDictionary) == (nil, errSecParam))
        #expect(make(key, [kSecAttrKeyClass: kSecAttrKeyClassPrivate] as NSDictionary) == (nil, errSecParam))
        #expect(make(key, [:] as NSDictionary) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeDSA, kSecAttrKeyClassPrivate) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, "3") == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, Data([1])) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, 0.5) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, Int.max) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, Double.nan) == (nil, errSecParam))
        #expect(make(key, kSecAttrKeyTypeEC, kSecAttrKeyClassSymmetric) == (nil, errSecUnimplemented))
    }

    @Test(arguments: [OpenSSL.Algorithm.p192, .p224, .p256, .p521, .rsa1024])
    func keyCutAnywhereIsRefused(_ algorithm: OpenSSL.Algorithm) throws {
        try openssl.makeKey("one", algorithm)
        let (secret, point) = try openssl.keyBytes(algorithm)
        for count in 0..<secret.count {
            #expect(make(secret.prefix(count), type(algorithm), kSecAttrKeyClassPrivate) == (nil, errSecParam))
        }
        for count in 0..<point.count {
            #expect(make(point.prefix(count), type(algorithm), kSecAttrKeyClassPublic) == (nil, errSecParam))
        }
        #expect(make(secret + [0], type(algorithm), kSecAttrKeyClassPrivate) == (nil, errSecParam))
        #expect(make(point + [0], type(algorithm), kSecAttrKeyClassPublic) == (nil, errSecParam))
        try openssl("pkcs8", "-topk8", "-nocrypt", "-in", "one.key", "-outform", "DER", "-out", "one.p8")
        let info = try openssl["one.p8"]
        for count in 0..<info.count { #expect(SoftwareKey(privateKeyInfo: Array(info.prefix(count))) == nil) }
    }

    @Test func keyWithAnyByteChangedIsReadOrRefused() throws {
        for algorithm in [OpenSSL.Algorithm.p192, .p256, .rsa1024] {
            try openssl.makeKey("one", algorithm)
            let (secret, point) = try openssl.keyBytes(algorithm)
            try openssl("pkcs8", "-topk8", "-nocrypt", "-in", "one.key", "-outform", "DER", "-out", "one.p8")
            let info = try openssl["one.p8"]
            func forEach(_ data: Data, _ body: (Data) -> Void) {
                for index in data.indices {
                    for value in [data[index] ^ 0x01, 0x00, 0xff] where value != data[index] {
                        var changed = data
                        changed[index] = value
                        body(changed)
                    }
                }
            }
            forEach(secret) {
                // The point and the number, or the two primes, no longer agree.
                let key = make($0, type(algorithm), kSecAttrKeyClassPrivate).0
                #expect(key == nil || algorithm.isRSA)
            }
            forEach(point) { _ = make($0, type(algorithm), kSecAttrKeyClassPublic) }
            forEach(info) { _ = SoftwareKey(privateKeyInfo: Array($0)) }
        }
    }

    @Test func numbersThatAreNoKeyAreRefused() {
        // The order of P-256, and 0.
        let order = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"
        for number in [Data(count: 32), Data(hex: order)] {
            #expect(throws: (any Error).self) { try EllipticCurvePrivateKey(.p256, number: number) }
        }
        #expect(throws: Never.self) { try EllipticCurvePrivateKey(.p256, number: Data(count: 31) + [1]) }
        // A point that is not on the curve, and the point at infinity.
        #expect(make(Data([4]) + Data(count: 64), kSecAttrKeyTypeEC, kSecAttrKeyClassPublic) == (nil, errSecParam))
        #expect(make(Data([0]), kSecAttrKeyTypeEC, kSecAttrKeyClassPublic) == (nil, errSecParam))
    }

    @Test("KC-30: attributes of a key: its class, label, type and sizes, and what it can be used for")
    func attributes() throws {
        try openssl.makeKey()
        let (secret, point) = try openssl.keyBytes(.p256)
        try openssl.write(point, "point")
        let label = try openssl("dgst", "-sha1", "-r", "point").prefix(40).uppercased()
        for isPublic in [true, false] {
            let made =
                isPublic
                ? make(point, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic)
                : make(secret, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate)
            let key = try #require(made.0)
            let expected: NSDictionary = [
                kSecClass: kSecClassKey, kSecAttrKeyClass: isPublic ? "0" : "1", kSecAttrKeyType: "73",
                kSecAttrApplicationLabel: Data(hex: label) as NSData, kSecAttrKeySizeInBits: 256,
                kSecAttrEffectiveKeySize: 256, kSecAttrIsPermanent: true, "priv": true, "modi": true, "sens": false,
                "asen": false, "extr": true, "next": false, kSecAttrCanEncrypt: isPublic, kSecAttrCanVerify: isPublic,
                kSecAttrCanWrap: isPublic, kSecAttrCanDecrypt: !isPublic, kSecAttrCanSign: !isPublic,
                kSecAttrCanUnwrap: !isPublic, kSecAttrCanDerive: true, "snrc": false, "vyrc": false,
                kSecValueData: (isPublic ? point : secret) as NSData,
            ]
            #expect(SecKeyCopyAttributes(key) == expected)
            #expect(key.itemAttributes[.keyClass] == .number(isPublic ? 0 : 1))
            #expect(key.itemAttributes[.keyType] == .number(73))
            #expect(Set(key.itemAttributes.keys).isSubset(of: ItemClass.key.attributes.map(\.key)))
            let data = try #require(key.itemData)
            #expect(SecKey(itemAttributes: key.itemAttributes, itemData: data) == key)
        }
    }

    @Test func itemWhoseAttributesAndDataDisagreeIsNoKey() throws {
        try openssl.makeKey()
        let (secret, point) = try openssl.keyBytes(.p256)
        let right: KeychainInterface.Dictionary = [.keyType: .number(73), .keyClass: .number(1)]
        #expect(SecKey(itemAttributes: right, itemData: secret) != nil)
        #expect(SecKey(itemAttributes: right, itemData: point) == nil)
        #expect(SecKey(itemAttributes: right.merging([.keyType: .number(42)]) { $1 }, itemData: secret) == nil)
        #expect(SecKey(itemAttributes: right.merging([.keyType: .string("x")]) { $1 }, itemData: secret) == nil)
        #expect(SecKey(itemAttributes: [.keyType: .number(73)], itemData: secret) == nil)
    }

    @Test func equalKeysAreThoseOfEqualBytes() throws {
        try openssl.makeKey()
        let (secret, point) = try openssl.keyBytes(.p256)
        let keys = try (0..<2).map { _ in try #require(make(secret, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate).0) }
        #expect(keys[0] == keys[1] && keys[0].hash == keys[1].hash)
        #expect(make(point, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic).0 != keys[0])
        #expect(keys[0] != random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]).0)
        #expect(CFGetTypeID(keys[0]) == SecKeyGetTypeID())
        #expect(!"\(keys[0])".contains(secret.base64EncodedString()))
    }

    // MARK: - New keys

    @Test func sizeMayBeText() {
        #expect(
            random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: "384"]).0.map(SecKeyGetBlockSize) == 48)
    }

    @Test func typeMustBeAConstant() {
        #expect(random([kSecAttrKeyType: 42, kSecAttrKeySizeInBits: 2048]) == (nil, errSecParam))
        #expect(random([kSecAttrKeyType: kSecAttrKeyTypeDSA, kSecAttrKeySizeInBits: 2048]) == (nil, errSecParam))
        #expect(random([kSecAttrKeySizeInBits: 256]) == (nil, errSecParam))
        #expect(random([kSecAttrKeyType: kSecAttrKeyTypeEC]) == (nil, errSecParam))
        #expect(random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: "many"]) == (nil, errSecParam))
    }

    @Test(arguments: [0, -1, 192, 224, 255, 257, 2048, 1 << 40])
    func curvesOfOtherSizesAreRefused(_ size: Int) {
        #expect(
            random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: size]) == (nil, errSecKeySizeNotAllowed))
    }

    @Test(arguments: [0, -128, 512, 1016, 1023, 1025, 1028, 8193, 8200, 16384, 1 << 40])
    func moduliOfOtherSizesAreRefused(_ size: Int) {
        #expect(
            random([kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: size]) == (nil, errSecKeySizeNotAllowed)
        )
    }

    @Test func typeAndSizeOfOneHalfAreDisregarded() {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256,
            kSecPrivateKeyAttrs: [kSecAttrKeySizeInBits: 384, kSecAttrLabel: "x"] as [CFString: Any],
        ]
        #expect(random(parameters).0.map(SecKeyGetBlockSize) == 32)
        #expect(
            random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecPrivateKeyAttrs: "x"]) == (
                nil, errSecParam
            ))
    }

    @Test func keyOfATokenIsNotMadeInSoftwareInstead() throws {
        let parameters: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256,
            kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecAttrIsPermanent: false,
        ]
        let device = try SimulatedDevice()
        let (key, _) = device.run { random(parameters) }
        #expect(SecKeyCopyExternalRepresentation(try #require(key), nil) == nil)
    }

    // MARK: - Identities

    @Test func identityIsACertificateWithItsOwnKey() throws {
        try openssl.makeKey()
        let secret = try openssl.keyBytes(.p256).private
        let key = try #require(make(secret, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate).0)
        let certificate = try #require(SecCertificateCreateWithData(nil, try openssl.makeCertificate() as CFData))
        let identity = try #require(SecIdentityCreate(nil, certificate, key))
        var (itsCertificate, itsKey): (SecCertificate?, SecKey?)
        #expect(SecIdentityCopyCertificate(identity, &itsCertificate) == errSecSuccess)
        #expect(SecIdentityCopyPrivateKey(identity, &itsKey) == errSecSuccess)
        #expect(itsCertificate == certificate && itsKey == key)
        #expect(SecIdentityCreate(nil, certificate, key) == identity)
        #expect(CFGetTypeID(identity) == SecIdentityGetTypeID())

        #expect(SecIdentityCreate(nil, certificate, try #require(SecKeyCopyPublicKey(key))) == nil)
        let other = try #require(random([kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256]).0)
        #expect(SecIdentityCreate(nil, certificate, other) == nil)
    }
}

extension Data {
    init(hex: some StringProtocol) {
        let digits = Array(hex)
        self.init(stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! })
    }
}
