import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// What becomes of a key of the enclave, of whatever kind, until it can be used no more.
@Suite(.timeLimit(.minutes(10))) struct KeyLifeTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    @Test("SE-02: a key is made and used with nobody asked, and no two are the same", arguments: Kind.all)
    func makeAndUse(_ kind: Kind) throws {
        try device.run(prompts: 0) {
            let key = try kind.make(control([]), nil)
            #expect(try key.works())
            let other = try kind.make(control([]), nil)
            #expect(other.publicKey != key.publicKey && other.dataRepresentation != key.dataRepresentation)
        }
    }

    @Test("SE-03: a key comes back from its data, after a reboot too, as the same key", arguments: Kind.all)
    func restore(_ kind: Kind) throws {
        try device.run {
            let key = try kind.make(control([]), nil)
            device.reboot()
            try device.unlock(passcode: "1234")
            let restored = try kind.restore(key.dataRepresentation, nil)
            #expect(restored.publicKey == key.publicKey && restored.dataRepresentation == key.dataRepresentation)
            #expect(try restored.works())
            // The first object is as good as before.
            #expect(try key.works())
        }
    }

    @Test("SE-03: data with one bit changed is no key", arguments: Kind.all)
    func flippedBit(_ kind: Kind) throws {
        try device.run {
            let data = try kind.make(control([]), nil).dataRepresentation
            // Bytes all over it, the first and the last among them.
            for byte in stride(from: 0, to: data.count, by: max(1, data.count / 200)) + [data.count - 1] {
                #expect(throws: CryptoKitError.unwrapFailure, "byte \(byte)") {
                    _ = try kind.restore(data.flippingBit(byte * 8 + byte % 8), nil)
                }
            }
            _ = try kind.restore(data, nil)
        }
    }

    @Test("SE-03: data that is cut, longer, empty or something else is no key", arguments: Kind.all)
    func otherData(_ kind: Kind) throws {
        try device.run {
            let data = try kind.make(control([]), nil).dataRepresentation
            for other in [Data(), data.prefix(1), data.dropLast(), data + [0], Data("a key".utf8), Data(count: 4096)] {
                #expect(throws: CryptoKitError.unwrapFailure) { _ = try kind.restore(other, nil) }
            }
        }
    }

    @Test("SE-03: another device's data is no key", arguments: Kind.all) func anotherDevice(_ kind: Kind) throws {
        let key = try device.run { try kind.make(control([]), nil) }
        let another = try SimulatedDevice(passcode: "1234", fingers: 1)
        another.run {
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try kind.restore(key.dataRepresentation, nil) }
            // Nor is it used there by an app that has it already.
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
        }
        #expect(try device.run { try key.works() })
    }

    @Test("SE-03: another app's data is no key, unless they share the first group", arguments: Kind.all)
    func anotherApp(_ kind: Kind) throws {
        let key = try device.run(as: "org.example.a", keychainAccessGroups: ["TEAM.shared"]) {
            try kind.make(control([]), nil)
        }
        device.run(as: "org.example.b") {
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try kind.restore(key.dataRepresentation, nil) }
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
        }
        try device.run(as: "org.example.c", keychainAccessGroups: ["TEAM.other", "TEAM.shared"]) {
            let shared = try kind.restore(key.dataRepresentation, nil)
            #expect(try shared.works())
        }
    }

    @Test("A key of one kind is none of another") func anotherKind() throws {
        try device.run {
            for (index, kind) in Kind.all.enumerated() {
                let data = try kind.make(control([]), nil).dataRepresentation
                for (other, otherKind) in Kind.all.enumerated() {
                    // On P-256 the same key does both, as the enclave's does with SecKey.
                    if index == other || max(index, other) == 1 {
                        #expect(try otherKind.restore(data, nil).works())
                    } else {
                        #expect(throws: CryptoKitError.unwrapFailure) { _ = try otherKind.restore(data, nil) }
                    }
                }
            }
        }
    }

    @Test("AC-50, AC-52: after a re-enrolment a key of the current set is taken up and never used", arguments: Kind.all)
    func currentSet(_ kind: Kind) throws {
        try device.run(prompts: 0) {
            let key = try kind.make(control(.biometryCurrentSet), nil)
            let finger = try device.enrollFinger()
            device.present(.finger(1))
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
            #expect(try kind.restore(key.dataRepresentation, nil).publicKey == key.publicKey)
            // The same fingers as before are another set.
            try device.removeFinger(finger)
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
        }
    }

    @Test("AC-54: a key for any finger outlives a re-enrolment", arguments: Kind.all)
    func anyFinger(_ kind: Kind) throws {
        try device.run(prompts: 1) {
            let key = try kind.make(control(.biometryAny), nil)
            let finger = try device.enrollFinger()
            device.present(.finger(finger))
            #expect(try key.works())
        }
    }

    @Test("KC-20: a locked device opens no key of the default class, and is asked nothing") func locked() throws {
        try device.run(prompts: 0) {
            let key = try SecureEnclave.P256.Signing.PrivateKey()
            try device.lock()
            #expect(throws: status(errSecInteractionNotAllowed)) { try key.signature(for: Data()) }
            #expect(throws: status(errSecInteractionNotAllowed)) { try SecureEnclave.P256.Signing.PrivateKey() }
            // What it is can be had.
            #expect(
                try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: key.dataRepresentation).publicKey
                    .rawRepresentation == key.publicKey.rawRepresentation)
            try device.unlock(passcode: "1234")
            _ = try key.signature(for: Data())
        }
    }

    @Test("KC-23: a key that wants a passcode to be set is gone with it", arguments: Kind.all)
    func passcodeRemoved(_ kind: Kind) throws {
        try device.run {
            let key = try kind.make(control([], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly), nil)
            #expect(try key.works())
            try device.removePasscode("1234")
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
            try device.setPasscode("1234")
            #expect(throws: CryptoKitError.unwrapFailure) { _ = try key.works() }
        }
    }

    @Test("AC-15, KC-24: no key is made for fingers that are not enrolled, or without a passcode for one that wants it")
    func cannotBind() throws {
        for device in [try SimulatedDevice(), try SimulatedDevice(biometry: .none, passcode: "1234")] {
            _ = device.run {
                #expect(throws: status(errSecAuthFailed)) {
                    _ = try SecureEnclave.P256.Signing.PrivateKey(accessControl: control(.biometryAny))
                }
            }
        }
        try SimulatedDevice().run {
            let control = try control([], kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            #expect(throws: status(errSecAuthFailed)) { try SecureEnclave.MLKEM768.PrivateKey(accessControl: control) }
            _ = try SecureEnclave.MLKEM768.PrivateKey()
        }
    }

    @Test("SE-13: a key with a constraint and without privateKeyUsage is of no use", arguments: Kind.all)
    func withoutKeyUsage(_ kind: Kind) throws {
        try device.run(prompts: 0) {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            device.present(.finger(1))
            let key = try kind.make(control, nil)
            #expect { _ = try key.works() } throws: { ($0 as? LAError)?.code.rawValue == -1009 }
        }
    }

    @Test("Whether there is an enclave, with a device and without") func isAvailable() throws {
        #expect(device.run { SecureEnclave.isAvailable })
        #expect(!withoutDevice { SecureEnclave.isAvailable })
        // A device need not be set up, nor unlocked.
        #expect(try SimulatedDevice(biometry: .none).run { SecureEnclave.isAvailable })
        try device.lock()
        #expect(device.run { SecureEnclave.isAvailable })
    }

    @Test("Without a device every call says so", arguments: Kind.all) func noDevice(_ kind: Kind) throws {
        let key = try device.run { try kind.make(control([]), nil) }
        withoutDevice {
            #expect(throws: status(errSecNotAvailable)) { _ = try kind.make(control([]), nil) }
            #expect(throws: status(errSecNotAvailable)) { _ = try kind.restore(key.dataRepresentation, nil) }
            #expect(throws: status(errSecNotAvailable)) { _ = try key.works() }
        }
    }
}
