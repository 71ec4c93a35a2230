import Crypto
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@testable import TouchstoneSignIn

/// What is in the keychain, with a device in this process.
@Suite(.timeLimit(.minutes(20))) struct DeviceKeychainTests {
    private let device: SimulatedDevice
    private let keychain = DeviceKeychain()

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    private func record(_ key: NewKey, _ audience: String = "example.org") throws -> RegisteredServer {
        RegisteredServer(
            server: try #require(URL(string: "https://\(audience)")), audience: audience, application: "test",
            account: "alice", deviceName: "laptop", keyID: key.id, userHandle: Data(repeating: 1, count: 16),
            keyTag: key.tag)
    }

    private func sign(_ tag: String) async throws -> Data {
        try await keychain.sign(Data("message".utf8), tag: tag, prompt: Prompt(reason: "sign in to example.org"))
    }

    @Test("NP-02, NP-03: a finger signs, in DER over SHA-256, with a key that the passcode's end ends")
    func aFingerSigns() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            device.present(.finger(1))
            let signature = try P256.Signing.ECDSASignature(derRepresentation: try await sign(key.tag))
            #expect(key.publicKey.isValidSignature(signature, for: Data("message".utf8)))
            #expect(device.prompts.map(\.reason) == ["sign in to example.org"])
            #expect(device.prompts.map(\.keyLabel) == ["example.org"])
            try device.removePasscode("1234")
            await #expect(throws: KeyUseFailure.invalidated) { _ = try await sign(key.tag) }
        }
    }

    @Test("AC-53: a cancel, wrong fingers, a lockout and a locked device leave the key as it was")
    func theKeyStays() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            device.present(.cancel)
            await #expect(throws: KeyUseFailure.other(.cancelled)) { _ = try await sign(key.tag) }
            device.present(.nonMatch, .nonMatch, .nonMatch)
            await #expect(throws: KeyUseFailure.other(.notRecognised)) { _ = try await sign(key.tag) }
            device.present(.nonMatch, .nonMatch)
            await #expect(throws: KeyUseFailure.other(.lockedOut)) { _ = try await sign(key.tag) }
            await #expect(throws: KeyUseFailure.other(.lockedOut)) { _ = try await sign(key.tag) }
            await #expect(throws: SignInError.lockedOut) { try await keychain.checkBiometry() }
            try device.lock()
            try device.unlock(passcode: "1234")
            device.setAttended(false)
            guard case .notAvailable? = await failure({ _ = try await sign(key.tag) }) else {
                Issue.record("somebody was asked")
                return
            }
            device.setAttended(true)
            device.present(.finger(1))
            #expect(try await !sign(key.tag).isEmpty)
        }
    }

    private func failure(_ body: () async throws -> Void) async -> SignInError? {
        do {
            try await body()
            return nil
        } catch KeyUseFailure.other(let error) {
            return error
        } catch {
            return nil
        }
    }

    @Test("AC-52: another finger ends the key, and nobody is asked any more")
    func anotherFinger() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            try await keychain.store(try record(key))
            _ = try device.enrollFinger()
            await #expect(throws: KeyUseFailure.invalidated) { _ = try await sign(key.tag) }
            #expect(device.prompts.isEmpty)
            let lost = try #require(try await keychain.record("example.org"))
            try await keychain.invalidate(lost, .invalidated)
            #expect(try await keychain.record("example.org")?.registrationNeeded == .invalidated)
            await #expect(throws: KeyUseFailure.missing) { _ = try await sign(key.tag) }

            // NP-31: whoever is late with the same news does not delete what was made meanwhile.
            let new = try await keychain.makeKey("example.org")
            try await keychain.store(try record(new))
            try await keychain.invalidate(lost, .invalidated)
            device.present(.finger(1))
            #expect(try await !sign(new.tag).isEmpty)
            #expect(try await keychain.record("example.org")?.registrationNeeded == nil)
        }
    }

    @Test("NP-23: a counter rises by one, is there for good, and two that count at once never get one number")
    func counter() async throws {
        try await device.run {
            try await keychain.startCounter(tag: "k", at: 0)
            let others = (0..<4).map { _ in DeviceKeychain() }
            let numbers = try await withThrowingTaskGroup(of: [UInt64].self) { group in
                for other in others {
                    group.addTask {
                        var numbers: [UInt64] = []
                        for _ in 0..<10 { numbers.append(try await other.nextCounter(tag: "k")) }
                        #expect(numbers == numbers.sorted())
                        return numbers
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(numbers.sorted() == Array(1...40))
            device.reboot()
            try device.unlock(passcode: "1234")
            #expect(try await keychain.nextCounter(tag: "k") == 41)
            try await keychain.startCounter(tag: "other", at: 7)
            #expect(try await keychain.nextCounter(tag: "other") == 8)
        }
    }

    @Test("NP-23: a key whose counter is gone is not used, and a counter at its end does not start over")
    func counterEnds() async throws {
        try await device.run {
            await #expect(throws: KeyUseFailure.missing) {
                _ = try await keychain.nextCounter(tag: "k")
            }
            try await keychain.startCounter(tag: "k", at: .max)
            await #expect(throws: SignInError.self) { _ = try await keychain.nextCounter(tag: "k") }
        }
    }

    @Test("NP-22: a device id is of one server, and stays; forgetting ends it")
    func deviceID() async throws {
        try await device.run {
            let first = try await keychain.deviceID("example.org")
            #expect(first.count == 16)
            #expect(try await keychain.deviceID("example.org") == first)
            #expect(try await keychain.deviceID("example.net") != first)
            try await keychain.forget("example.org")
            #expect(try await keychain.deviceID("example.org") != first)
        }
    }

    @Test("KC-45, NP-32: what an earlier installation left is deleted once, and its own is kept")
    func installation() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            try await keychain.store(try record(key))
            try await keychain.startCounter(tag: key.tag, at: 0)
            #expect(try await keychain.adopt(installation: Data([1])))
            #expect(try await keychain.records().isEmpty)
            await #expect(throws: KeyUseFailure.missing) { _ = try await sign(key.tag) }

            let new = try await keychain.makeKey("example.org")
            try await keychain.store(try record(new))
            #expect(try await !keychain.adopt(installation: Data([1])))
            #expect(try await keychain.records().map(\.keyTag) == [new.tag])
            #expect(try await keychain.adopt(installation: Data([2])))
            #expect(try await keychain.records().isEmpty)
        }
    }

    @Test(
        "NP-22: a reinstalled app is the same device to its server; one that was only known there leaves nothing to delete"
    )
    func installationKeepsTheDevice() async throws {
        try await device.run {
            let id = try await keychain.deviceID("example.org")
            #expect(try await !keychain.adopt(installation: Data([1])))
            _ = try await keychain.makeKey("example.org")
            #expect(try await keychain.adopt(installation: Data([2])))
            #expect(try await keychain.deviceID("example.org") == id)
            #expect(try EnclaveKeys.tags(label: "example.org").isEmpty)
        }
    }

    @Test("keys of registrations that were not finished go with the next one; another server's stay")
    func leftovers() async throws {
        try await device.run {
            let left = try await keychain.makeKey("example.org")
            let other = try await keychain.makeKey("example.net")
            let kept = try await keychain.makeKey("example.org")
            try await keychain.deleteKeys("example.org", except: kept.tag)
            await #expect(throws: KeyUseFailure.missing) { _ = try await sign(left.tag) }
            device.present(.finger(1), .finger(1))
            for tag in [other.tag, kept.tag] { #expect(try await !sign(tag).isEmpty) }
        }
    }

    @Test("whoever waits for the owner holds no thread of the concurrency runtime, and can take the question back")
    func cancelling() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            let prompt = Prompt(reason: "sign in to example.org")
            let signed = Task { try await keychain.sign(Data(), tag: key.tag, prompt: prompt) }
            while device.prompts.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            prompt.cancel()
            await #expect(throws: KeyUseFailure.other(.cancelled)) { _ = try await signed.value }
        }
    }

    @Test("everything is for this device only")
    func thisDeviceOnly() async throws {
        try await device.run {
            let key = try await keychain.makeKey("example.org")
            try await keychain.store(try record(key))
            try await keychain.startCounter(tag: key.tag, at: 0)
            _ = try await keychain.deviceID("example.org")
            _ = try await keychain.adopt(installation: Data([1]))
            _ = try await keychain.deviceID("example.org")
            var found: CFTypeRef?
            let query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            ]
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            let items = try #require(found as? [[String: Any]])
            #expect(!items.isEmpty)
            for item in items {
                #expect(
                    item[kSecAttrAccessible as String] as? String
                        == kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String)
            }
        }
    }
}
