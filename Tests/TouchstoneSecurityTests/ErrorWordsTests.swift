import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Every function that takes an error pointer says in words what was to be done and why it was not.
@Suite(.timeLimit(.minutes(10))) struct ErrorWordsTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func failure(_ body: () throws -> Void) throws -> NSError {
        let error = #expect(throws: (any Error).self) { try body() }
        return try #require(error) as NSError
    }

    /// The words are under both keys, and the same.
    private func expect(
        _ expected: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) throws {
        let error = try failure(body)
        #expect(error.userInfo["NSDescription"] as? String == expected, sourceLocation: sourceLocation)
        #expect(error.userInfo[NSLocalizedDescriptionKey] as? String == expected, sourceLocation: sourceLocation)
        #expect(error.localizedDescription == expected, sourceLocation: sourceLocation)
        #expect(CFErrorCopyDescription(error) as String == expected, sourceLocation: sourceLocation)
    }

    /// What `SecCopyErrorMessageString` says.
    private static let notValid = "One or more parameters passed to a function were not valid."

    @Test("an access control") func accessControl() throws {
        try expect("Access control creation failed: \(Self.notValid)") {
            _ = try result { SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, [.or, .and], $0) }
        }
        try expect("Access control creation failed: \(Self.notValid)") {
            _ = try result { SecAccessControlCreateWithFlags(nil, "never" as CFString, [], $0) }
        }
    }

    @Test("a key that is read") func creationFromData() throws {
        func read(_ attributes: Entries) throws {
            _ = try result { SecKeyCreateWithData(Data(count: 5) as CFData, attributes as CFDictionary, $0) }
        }
        let rsa: Entries = [kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate]
        try expect("RSA private key creation from data failed: \(Self.notValid)") { try read(rsa) }
        try expect("EC public key creation from data failed: \(Self.notValid)") {
            try read([kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic])
        }
        try expect("Key creation from data failed: \(Self.notValid)") { try read([:]) }
        try expect("RSA private key creation from data failed: Function or operation not implemented.") {
            try read(rsa.merging([kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]) { $1 })
        }
    }

    @Test("a key that is made") func creation() throws {
        try expect("EC key creation failed: This item specifies a key size which is too large or too small.") {
            _ = try softwareKey(255)
        }
        try SimulatedDevice().run {
            try expect(
                "EC key creation in the Secure Enclave failed: The user name or passphrase you entered is not correct."
            ) {
                _ = try enclaveKey([.biometryAny, .privateKeyUsage])
            }
        }
    }

    @Test("a key whose bytes do not leave the enclave") func export() throws {
        try device.run {
            let key = try enclaveKey()
            try expect("EC private key export failed: Function or operation not implemented.") {
                _ = try result { SecKeyCopyExternalRepresentation(key, $0) }
            }
        }
    }

    @Test("the uses of a key") func uses() throws {
        let key = try softwareKey()
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        let data = Data("data".utf8) as CFData
        try expect("EC private key signing failed: \(Self.notValid)") {
            _ = try result { SecKeyCreateSignature(key, .rsaSignatureRaw, data, $0) }
        }
        try expect("EC public key verification failed: A cryptographic verification failure has occurred.") {
            _ = try result {
                SecKeyVerifySignature(publicKey, .ecdsaSignatureMessageX962SHA256, data, data, $0) ? true : nil
            }
        }
        try expect("EC public key encryption failed: \(Self.notValid)") {
            _ = try result { SecKeyCreateEncryptedData(publicKey, .rsaEncryptionPKCS1, data, $0) }
        }
        try expect("EC private key decryption failed: \(Self.notValid)") {
            _ = try result { SecKeyCreateDecryptedData(key, .eciesEncryptionStandardX963SHA256AESGCM, data, $0) }
        }
        try expect("EC private key exchange failed: \(Self.notValid)") { try exchange(key, softwareKey(384)) }
    }

    @Test("AC-45, A.5: an error of LocalAuthentication keeps its few words, and says beside them what was to be done")
    func authentication() throws {
        try device.run {
            let key = try enclaveKey([.userPresence, .privateKeyUsage])
            device.present(.cancel)
            let error = try failure { try signature(of: key) }
            #expect(error.domain == LAErrorDomain)
            #expect(error.localizedDescription == "Authentication canceled.")
            #expect(
                error.userInfo["NSDescription"] as? String == "EC private key signing failed: Authentication canceled.")
            #expect(error.userInfo[NSDebugDescriptionErrorKey] as? String == "Canceled by user.")
            let denied = try enclaveKey(.userPresence)
            #expect(
                try failure { try signature(of: denied) }.userInfo["NSDescription"] as? String
                    == "EC private key signing failed: The access control does not grant this operation.")
        }
    }

    @Test("AC-52: a key that is gone says so") func gone() throws {
        try device.run {
            let key = try enclaveKey([.biometryCurrentSet, .privateKeyUsage])
            try device.enrollFinger()
            try expect(
                "EC private key signing failed: The fingers, faces or passcode to which the key was bound have changed."
            ) { try signature(of: key) }
        }
    }

    @Test("EV-64: an error of the store of rights has words, too") func rights() async throws {
        await device.run {
            let error = await #expect(throws: NSError.self) {
                try await LARightStore.shared.right(forIdentifier: "none")
            }
            #expect(
                error?.localizedDescription
                    == "Using a right failed: The specified item could not be found in the keychain.")
        }
    }
}
