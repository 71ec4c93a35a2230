import Foundation
import Security
import Testing

/// Calls as programs for Apple's platforms write them.
@Suite struct CertificateIdiomTests {
    private func makeKey(_ attributes: [String: Any]) throws -> SecKey {
        var error: Unmanaged<CFError>?
        guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        return key
    }

    @Test func keyIsMadeAndReadBack() throws {
        let attributes: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
            kSecPrivateKeyAttrs as String: [kSecAttrIsPermanent as String: false],
        ]
        let key = try makeKey(attributes)
        var error: Unmanaged<CFError>?
        let data = try #require(SecKeyCopyExternalRepresentation(key, &error) as Data?)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(SecKeyGetBlockSize(publicKey) == 32)

        let options: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecAttrKeySizeInBits: 256,
        ]
        let copy = try #require(SecKeyCreateWithData(data as CFData, options as CFDictionary, nil))
        #expect(copy == key)
        let reference: CFTypeRef = copy
        #expect(CFGetTypeID(reference) == SecKeyGetTypeID())
        #expect((reference as! SecKey) == key)
        let fields = SecKeyCopyAttributes(copy) as? [String: Any]
        #expect(fields?[kSecAttrApplicationLabel as String] is Data)
        #expect(fields?[kSecAttrKeyClass as String] as? String == kSecAttrKeyClassPrivate as String)
    }

    @Test func errorsAreThrownAsTheyCome() throws {
        let error = #expect(throws: NSError.self) {
            try makeKey([kSecAttrKeyType as String: "no such type", kSecAttrKeySizeInBits as String: 256])
        }
        #expect(error?.domain == NSOSStatusErrorDomain && error?.code == Int(errSecParam))
    }

    @Test func certificateAndFileAreRefusedWithoutACrash() {
        #expect(SecCertificateCreateWithData(kCFAllocatorDefault, Data([0x30]) as CFData) == nil)
        #expect(SecCertificateCreateWithData(nil, Data("text".utf8) as NSData) == nil)
        var items: CFArray?
        let options = [kSecImportExportPassphrase as String: "passphrase"] as CFDictionary
        #expect(SecPKCS12Import(Data() as CFData, options, &items) == errSecDecode)
        #expect(items == nil)
        // Results may be left alone, as those of Apple's functions.
        SecCertificateCreateWithData(nil, Data() as CFData)
    }
}
