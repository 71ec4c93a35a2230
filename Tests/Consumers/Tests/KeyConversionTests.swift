import CryptoKit
import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(20))) struct KeyConversionTests {
    @Test("Two correspondents, restored from the keychain after a relaunch, still read one another")
    func correspondence() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let store = RawKeyStore()
            let alice = try #require(try Correspondent())
            let bob = try #require(try Correspondent())
            try alice.save(to: store, as: "alice")
            try bob.save(to: store, as: "bob")

            device.reboot()
            try device.unlock(passcode: "1234")
            let restored = try #require(try Correspondent(from: store, as: "alice"))
            let reader = try #require(try Correspondent(from: store, as: "bob"))
            device.present(.finger(1))
            let letter = try restored.write("hello", to: bob.agreement.publicKey)
            #expect(try reader.read(letter, from: alice) == "hello")
            #expect(device.prompts.count == 1)
            // Somebody else's letter, and one nobody has signed.
            #expect(throws: CryptoKitError.self) { try alice.read(letter, from: alice) }
            #expect(try reader.read(letter, from: bob) == nil)
            #expect(try Correspondent(from: store, as: "carol") == nil)
        }
    }

    @Test("A cancelled signature, and bytes that are no key, are what an app catches")
    func explanations() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let alice = try #require(try Correspondent())
            device.present(.cancel)
            let cancelled = #expect(throws: (any Error).self) {
                try alice.write("hello", to: alice.agreement.publicKey)
            }
            #expect(cancelled.map(explanation) == "cancelled")
            let other = #expect(throws: (any Error).self) {
                try SecureEnclave.P256.Signing.PrivateKey(raw: Data("no key".utf8))
            }
            #expect(other.map(explanation) == "not a key of this device")
        }
    }

    @Test("Software keys of CryptoKit go into the keychain, as passwords and as keys")
    func softwareKeys() throws {
        try SimulatedDevice().run {
            let curve = Curve25519.Signing.PrivateKey()
            try RawKeyStore().add(curve, account: "curve")
            let read: Curve25519.Signing.PrivateKey? = try RawKeyStore().read("curve")
            #expect(read?.rawRepresentation == curve.rawRepresentation)

            let nist = P384.Signing.PrivateKey()
            try KeychainKeyStore().add(nist, label: "nist")
            let found: P384.Signing.PrivateKey? = try KeychainKeyStore().read("nist")
            #expect(found?.rawRepresentation == nist.rawRepresentation)
            let none: P384.Signing.PrivateKey? = try KeychainKeyStore().read("none")
            #expect(none == nil)
        }
    }
}
