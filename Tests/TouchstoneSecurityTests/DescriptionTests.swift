import Foundation
import Security
import Testing
import TouchstoneTesting

/// What our types say of themselves where somebody prints them: what they are, and nothing that is to be kept.
@Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
    private func expect(_ object: NSObject, _ expected: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(object.description == expected, sourceLocation: sourceLocation)
        #expect(object.debugDescription == expected, sourceLocation: sourceLocation)
        #expect("\(object)" == expected, sourceLocation: sourceLocation)
        #expect(String(reflecting: object) == expected, sourceLocation: sourceLocation)
        #expect("\([object])" == "[\(expected)]", sourceLocation: sourceLocation)
    }

    @Test("a software key says its type, class and size") func softwareKeys() throws {
        for (type, size, name) in [
            (kSecAttrKeyTypeECSECPrimeRandom, 256, "EC"), (kSecAttrKeyTypeECSECPrimeRandom, 521, "EC"),
            (kSecAttrKeyTypeRSA, 2048, "RSA"),
        ] {
            let key = try randomKey([kSecAttrKeyType: type, kSecAttrKeySizeInBits: size])
            expect(key, "<SecKey: \(name) private key, \(size) bits>")
            expect(try #require(SecKeyCopyPublicKey(key)), "<SecKey: \(name) public key, \(size) bits>")
        }
    }

    @Test("a key of the enclave says where it is") func enclaveKeys() throws {
        try SimulatedDevice(passcode: "1234", fingers: 1).runUnprompted {
            let key = try enclaveKey([.userPresence, .privateKeyUsage])
            expect(key, "<SecKey: EC private key, 256 bits, Secure Enclave>")
            expect(try #require(SecKeyCopyPublicKey(key)), "<SecKey: EC public key, 256 bits>")
        }
    }

    @Test("SE-01: the attributes of a key of the enclave name its token, those of its public half do not")
    func tokenIsAnAttribute() throws {
        try SimulatedDevice(passcode: "1234", fingers: 1).runUnprompted {
            _ = try randomKey(parameters([kSecAttrApplicationTag: Data("t".utf8)]))
            for key in [try enclaveKey(), try stored("t")] {
                let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
                #expect(
                    attributes[kSecAttrTokenID as String] as? String == kSecAttrTokenIDSecureEnclave as String)
                let ofPublic = try #require(SecKeyCopyPublicKey(key).flatMap(SecKeyCopyAttributes) as? [String: Any])
                #expect(ofPublic[kSecAttrTokenID as String] == nil)
            }
            let attributes = try #require(SecKeyCopyAttributes(try softwareKey()) as? [String: Any])
            #expect(attributes[kSecAttrTokenID as String] == nil)
        }
    }

    @Test("an access control says its protection and its flags") func accessControls() throws {
        expect(try control([]), "<SecAccessControl: whenUnlocked>")
        expect(
            try control(
                [.biometryAny, .or, .devicePasscode, .applicationPassword], kSecAttrAccessibleAfterFirstUnlock),
            "<SecAccessControl: afterFirstUnlock; biometryAny, devicePasscode, or, applicationPassword>")
        expect(
            try control([.biometryCurrentSet, .privateKeyUsage], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly),
            "<SecAccessControl: whenPasscodeSetThisDeviceOnly; biometryCurrentSet, privateKeyUsage>")
        expect(
            try control([.devicePasscode, .init(rawValue: 1 << 20)]),
            "<SecAccessControl: whenUnlocked; devicePasscode, 0x100000>")
    }
}
