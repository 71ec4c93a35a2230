import Crypto
import Foundation
import TouchstoneCore

@testable import TouchstoneCertificates
@testable import TouchstoneKeyAlgorithms
@testable import TouchstoneSecurity

/// One value of DER.
private func der(_ tag: UInt8, _ parts: Data...) -> Data {
    let content = parts.reduce(Data(), +)
    var length = [UInt8(truncatingIfNeeded: content.count)]
    if content.count >= 128 {
        length = [0x82, UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count)]
    }
    return Data([tag] + length) + content
}

private func object(_ content: [UInt8]) -> Data { der(0x06, Data(content)) }

private let dataType: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
private let passphrase = "fuzz"

/// A PKCS#12 file with these bytes as its safes, and the right code.
private func authenticated(_ safes: Data) -> Data {
    let key = PKCS12KeyDerivation<SHA256>(passphrase: Passphrase(passphrase).utf16, salt: [1, 2], iterations: 1)
        .derive(.authentication, count: 32)
    let code = HMAC<SHA256>.authenticationCode(for: safes, using: SymmetricKey(data: key))
    let sha256 = der(0x30, object([0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]))
    return der(
        0x30, der(0x02, Data([3])), der(0x30, object(dataType), der(0xA0, der(0x04, safes))),
        der(0x30, der(0x30, sha256, der(0x04, Data(code))), der(0x04, Data([1, 2]))))
}

/// Whether a number of iterations could be in it that takes seconds by right: that bound is PKCS12Tests'.
private func isExpensive(_ bytes: Data) -> Bool {
    let bytes = Array(bytes)
    return bytes.indices.contains { index in
        guard bytes[index] == 0x02, index + 1 < bytes.count, (3...4).contains(bytes[index + 1]) else { return false }
        return true
    }
}

private func readPKCS12(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    guard !isExpensive(rest) else { return }
    let file = choice & 1 == 0 ? rest : authenticated(rest)
    guard
        let read = unlessRefused([Status.self], { try PKCS12File(Array(file), passphrase: passphrase) })
    else { return }
    for key in read.keys { hold(!SecKey(key.value).publicKeyHash.isEmpty, "a key without a public one") }
    for certificate in read.certificates { look(at: certificate.value) }
}

private func look(at certificate: Certificate) {
    guard let again = Certificate(der: certificate.der) else { broken("a certificate is read once only") }
    hold(again == certificate, "a certificate is another the second time")
    _ = (certificate.summary, certificate.commonName, certificate.emailAddresses, certificate.isValid(on: 0))
    for name in [certificate.issuer, certificate.subject] {
        hold(DistinguishedName(der: name.der) == name, "a name is another the second time")
        guard let normalized = name.normalized else { continue }
        guard let second = DistinguishedName(der: normalized) else { broken("a normalized name cannot be read") }
        hold(second.normalized == normalized, "normalizing twice is not normalizing once")
    }
    guard let made = SecCertificateCreateWithData(nil, certificate.der as NSData) else {
        broken("the API does not read it")
    }
    _ = (SecCertificateCopySubjectSummary(made), SecCertificateCopyKey(made), SecCertificateCopySerialNumber(made))
    _ = (SecCertificateCopyNotValidBeforeDate(made), SecCertificateCopyNormalizedIssuerSequence(made))
}

private func readKey(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    let kinds: [(KeyType, KeyClass)] = [
        (.rsa, .public), (.rsa, .private), (.ellipticCurve, .public), (.ellipticCurve, .private),
    ]
    switch choice % 8 {
    case 4:
        guard let key = SoftwareKey(privateKeyInfo: Array(rest)) else { return }
        hold(
            SoftwareKey(key.keyType, key.keyClass, data: key.externalRepresentation()) != nil,
            "a key of PKCS#8 is not read as written")
    case 5:
        guard let info = SubjectPublicKeyInfo(der: rest) else { return }
        hold(SubjectPublicKeyInfo(der: info.der) == info, "a public key is another the second time")
        _ = SoftwareKey(info)
    case 6:
        // A signature of X9.62, for a key that stands still.
        guard let key = SoftwareKey(.ellipticCurve, .public, data: somePoint) else { broken("cannot read the point") }
        var failure: Unmanaged<CFError>?
        hold(
            !SecKeyVerifySignature(
                SecKey(key), .ecdsaSignatureMessageX962SHA256, Data("message".utf8) as NSData, rest as NSData, &failure),
            "somebody signed with no key")
        failure?.release()
    case 7:
        guard let key = SoftwareKey(.ellipticCurve, .private, data: someNumber) else { broken("unreadable number") }
        var failure: Unmanaged<CFError>?
        _ = SecKeyCreateDecryptedData(
            SecKey(key), .eciesEncryptionCofactorVariableIVX963SHA256AESGCM, rest as NSData, &failure)
        failure?.release()
    case let kind:
        let (type, keyClass) = kinds[Int(kind)]
        guard let key = SoftwareKey(type, keyClass, data: rest) else { return }
        let written = key.externalRepresentation()
        guard let again = SoftwareKey(type, keyClass, data: written) else { broken("a key is written and not read") }
        hold(again.externalRepresentation() == written, "a key is another the second time")
    }
}

private let someKey = try? P256.Signing.PrivateKey(rawRepresentation: Data(repeating: 7, count: 32))
private let somePoint = someKey?.publicKey.x963Representation ?? Data()
private let someNumber = someKey?.x963Representation ?? Data()

let certificateTargets: [FuzzTarget] = [
    FuzzTarget(name: "certificate") { bytes in
        if let certificate = Certificate(der: bytes) { look(at: certificate) }
        if let name = DistinguishedName(der: bytes) { _ = name.normalized }
    } seeds: {
        []
    },
    FuzzTarget(name: "pkcs12", run: readPKCS12) {
        let contents = der(
            0x30, der(0x30, object(dataType), der(0xA0, der(0x04, der(0x30)))))
        return [Data([1]) + contents, Data([0]) + authenticated(contents)]
    },
    FuzzTarget(name: "key", run: readKey) {
        guard let someKey else { return [] }
        return [
            Data([2]) + somePoint, Data([3]) + someNumber, Data([4]) + someKey.derRepresentation,
            Data([5]) + someKey.publicKey.derRepresentation,
            Data([6]) + (try someKey.signature(for: Data("other".utf8)).derRepresentation),
            Data([7]) + somePoint + Data(count: 32),
        ]
    },
]
