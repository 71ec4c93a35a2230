import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct PersistedRightTests {
    private let device: SimulatedDevice
    private let secret = Data("the token".utf8)
    private let message = Data("challenge".utf8)
    private let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    private var store: LARightStore { .shared }

    /// The status with which the body failed; nil for success.
    private func status(_ body: () async throws -> Void) async -> OSStatus? {
        do {
            try await body()
            return nil
        } catch {
            let error = error as NSError
            #expect(error.domain == NSOSStatusErrorDomain, "\(error)")
            return OSStatus(error.code)
        }
    }

    /// The code of LocalAuthentication with which the use of a key or a secret failed; nil for success.
    private func refusal(_ body: () async throws -> Void) async -> LAError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return code(of: error)
        }
    }

    private func authorize(_ right: LARight) async -> LAError.Code? {
        do {
            try await right.authorize(localizedReason: "open the safe")
            return nil
        } catch {
            return code(of: error)
        }
    }

    // MARK: using

    @Test("EV-64: after a finger the key signs and the secret is read, as often as wanted and with one prompt")
    func authorized() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            #expect(right.state == .unknown && device.prompts.isEmpty)
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            for _ in 0..<3 {
                let signature = try await right.key.sign(message, algorithm: algorithm)
                try await right.key.publicKey.verify(message, signature: signature, algorithm: algorithm)
            }
            #expect(try await right.secret.rawData == secret)
            #expect(right.state == .authorized && device.prompts.count == 1)
        }
    }

    @Test("EV-64: without a proof nobody gets the key or the secret, and nobody is asked")
    func unauthorized() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            #expect(await refusal { _ = try await right.secret.rawData } == .notInteractive)
            #expect(
                await refusal { try await right.key.sign(message, algorithm: algorithm) } == .notInteractive)
            device.present(.cancel)
            #expect(await authorize(right) == .userCancel)
            #expect(await refusal { _ = try await right.secret.rawData } == .notInteractive)
            #expect(
                await refusal { try await right.key.sign(message, algorithm: algorithm) } == .notInteractive)
            #expect(device.prompts.count == 1)
        }
    }

    @Test("EV-64: what was proven ends with deauthorize, with the device's lock, and is no other right's")
    func endOfAuthorization() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            let other = try await store.saveRight(LARight(), identifier: "other", secret: secret)
            device.present(.finger(1), .finger(1))
            #expect(await authorize(right) == nil)
            #expect(await refusal { _ = try await other.secret.rawData } == .notInteractive)
            await right.deauthorize()
            #expect(await refusal { _ = try await right.secret.rawData } == .notInteractive)
            #expect(await authorize(right) == nil)
            #expect(try await right.secret.rawData == secret)
            try device.lockAndUnlock(finger: 1)
            #expect(
                await refusal { try await right.key.sign(message, algorithm: algorithm) } == .notInteractive)
            #expect(right.state == .notAuthorized, "what the device refused is not called authorised")
            #expect(device.prompts.count == 2)
        }
    }

    @Test("EV-64: a proof with the passcode does not open what wants a finger")
    func passcodeIsNoFinger() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(requirement: .biometry), identifier: "safe", secret: secret)
            device.present(.nonMatch, .fallback)
            #expect(await authorize(right) == .userFallback)
            #expect(await refusal { _ = try await right.secret.rawData } == .notInteractive)
            let either = LARight(requirement: .biometry(fallback: .devicePasscode))
            let second = try await store.saveRight(either, identifier: "second", secret: secret)
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(await authorize(second) == nil)
            #expect(try await second.secret.rawData == secret)
        }
    }

    @Test("EV-64: the key decrypts what was encrypted to it, and agrees on a secret with another key")
    func decryptAndExchange() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe")
            let (key, publicKey) = (right.key, right.key.publicKey)
            let encryption = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM
            let exchange = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
            #expect(publicKey.canEncrypt(using: encryption) && publicKey.canVerify(using: algorithm))
            #expect(key.canDecrypt(using: encryption) && key.canSign(using: algorithm))
            #expect(key.canExchangeKeys(using: exchange))
            #expect(!key.canSign(using: .rsaSignatureMessagePSSSHA256) && !publicKey.canVerify(using: encryption))
            let ciphertext = try await publicKey.encrypt(message, algorithm: encryption)
            #expect(
                await refusal { try await key.decrypt(ciphertext, algorithm: encryption) } == .notInteractive)
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(try await key.decrypt(ciphertext, algorithm: encryption) == message)

            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
            ]
            let other = try #require(SecKeyCreateRandomKey(attributes as CFDictionary, nil))
            let otherPublic = try #require(
                SecKeyCopyPublicKey(other).flatMap { SecKeyCopyExternalRepresentation($0, nil) })
            let parameters: [AnyHashable: Any] = [
                SecKeyKeyExchangeParameter.requestedSize.rawValue: 32,
                SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data("info".utf8),
            ]
            let ours = try await key.exchangeKeys(
                publicKey: otherPublic as Data, algorithm: exchange, parameters: parameters)
            let bytes = try await publicKey.bytes
            #expect(bytes.count == 65)
            let publicAttributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
            ]
            let copy = try #require(
                SecKeyCreateWithData(bytes as CFData, publicAttributes as CFDictionary, nil))
            let theirs = SecKeyCopyKeyExchangeResult(
                other, exchange, copy, NSDictionary(dictionary: parameters), nil)
            #expect(ours == theirs as Data?)
            #expect(ours.count == 32)
        }
    }

    @Test("EV-64: bad signatures, algorithms, points and parameters are errors")
    func badInput() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe")
            let (key, publicKey) = (right.key, right.key.publicKey)
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            var signature = try await key.sign(message, algorithm: algorithm)
            signature[signature.endIndex - 1] ^= 1
            let broken = signature
            #expect(
                await status { try await publicKey.verify(message, signature: broken, algorithm: algorithm) }
                    == errSecVerifyFailed)
            #expect(
                await status { try await key.sign(message, algorithm: .rsaSignatureMessagePSSSHA256) } == errSecParam)
            #expect(
                await status { try await publicKey.encrypt(message, algorithm: algorithm) } == errSecParam)
            let exchange = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
            for point in [Data(), Data(repeating: 4, count: 65), try await publicKey.bytes.dropLast()] {
                let answer = await status {
                    try await key.exchangeKeys(
                        publicKey: point, algorithm: exchange,
                        parameters: [SecKeyKeyExchangeParameter.requestedSize.rawValue: 32])
                }
                #expect(answer == errSecParam)
            }
            let own = try await publicKey.bytes
            let noSize = await status {
                try await key.exchangeKeys(publicKey: own, algorithm: exchange, parameters: [:])
            }
            let noParameter = await status {
                try await key.exchangeKeys(publicKey: own, algorithm: exchange, parameters: [1: [1]])
            }
            #expect(noSize == errSecParam && noParameter == errSecParam)
        }
    }

    // MARK: keeping

    @Test("EV-64: a right is found again after a restart, with its key, secret and requirement, and is not authorised")
    func restart() async throws {
        try await device.run {
            let saved = try await store.saveRight(
                LARight(requirement: .biometry), identifier: "safe", secret: secret)
            let bytes = try await saved.key.publicKey.bytes
            device.reboot()
            try device.unlock(passcode: "1234")
            let right = try await store.right(forIdentifier: "safe")
            #expect(right.state == .unknown)
            #expect(try await right.key.publicKey.bytes == bytes)
            device.present(.nonMatch, .fallback)
            #expect(await authorize(right) == .userFallback, "it wants biometry still")
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(try await right.secret.rawData == secret)
            let signature = try await right.key.sign(message, algorithm: algorithm)
            try await right.key.publicKey.verify(message, signature: signature, algorithm: algorithm)
        }
    }

    @Test("EV-64: a right without a secret has none, one with an empty secret has that")
    func emptySecret() async throws {
        try await device.run {
            let without = try await store.saveRight(LARight(), identifier: "without")
            let empty = try await store.saveRight(LARight(), identifier: "empty", secret: Data())
            device.present(.finger(1), .finger(1))
            #expect(await authorize(without) == nil)
            #expect(await status { _ = try await without.secret.rawData } == errSecItemNotFound)
            #expect(without.state == .authorized)
            #expect(await authorize(empty) == nil)
            #expect(try await empty.secret.rawData == Data())
        }
    }

    @Test("EV-64: saving under an identifier that is taken replaces key and secret")
    func replacing() async throws {
        try await device.run {
            let first = try await store.saveRight(LARight(), identifier: "safe", secret: Data("old".utf8))
            device.present(.finger(1))
            #expect(await authorize(first) == nil)
            let second = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            #expect(try await first.key.publicKey.bytes != second.key.publicKey.bytes)
            #expect(await status { try await first.key.sign(message, algorithm: algorithm) } == errSecItemNotFound)
            #expect(keys() == 1)
            let found = try await store.right(forIdentifier: "safe")
            #expect(try await found.key.publicKey.bytes == second.key.publicKey.bytes)
            device.present(.finger(1))
            #expect(await authorize(found) == nil)
            #expect(try await found.secret.rawData == secret)
        }
    }

    @Test("AC-50, AC-51: an enrolment ends a right of the current set, and no other")
    func enrolmentChanged() async throws {
        try await device.run {
            let current = try await store.saveRight(
                LARight(requirement: .biometryCurrentSet), identifier: "current", secret: secret)
            try await store.saveRight(LARight(requirement: .biometry), identifier: "any", secret: secret)
            device.present(.finger(1))
            #expect(await authorize(current) == nil)
            try device.enrollFinger()
            func isClosed(_ right: LAPersistedRight) async -> Bool {
                func isGone(_ body: () async throws -> Void) async -> Bool {
                    do {
                        try await body()
                        return false
                    } catch {
                        return (error as NSError).domain == "CryptoTokenKit" && (error as NSError).code == -3
                    }
                }
                let reading = await isGone { _ = try await right.secret.rawData }
                let signing = await isGone { try await right.key.sign(message, algorithm: algorithm) }
                return reading && signing
            }
            #expect(await isClosed(current), "the old finger's proof opens nothing")
            let found = try await store.right(forIdentifier: "current")
            device.present(.finger(1))
            #expect(await authorize(found) == nil)
            #expect(await isClosed(found), "nor does a new one, of the old finger")
            let any = try await store.right(forIdentifier: "any")
            device.present(.finger(2))
            #expect(await authorize(any) == nil)
            #expect(try await any.secret.rawData == secret)
            // The identifier is free again, and what is left of the old right goes.
            let new = try await store.saveRight(
                LARight(requirement: .biometryCurrentSet), identifier: "current", secret: secret)
            device.present(.finger(2))
            #expect(await authorize(new) == nil)
            #expect(try await new.secret.rawData == secret)
            #expect(keys() == 2)
        }
    }

    @Test("KC-23: rights go with the passcode, and none is saved without one")
    func passcodeRemoved() async throws {
        try await device.run {
            try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            try device.removePasscode("1234")
            #expect(await status { try await store.right(forIdentifier: "safe") } == errSecItemNotFound)
            #expect(keys() == 0, "what is left of it is deleted where it is looked for")
            #expect(await status { try await store.removeRight(forIdentifier: "safe") } == errSecItemNotFound)
            #expect(await status { try await store.saveRight(LARight(), identifier: "safe") } != nil)
            try device.setPasscode("1234")
            #expect(await status { try await store.right(forIdentifier: "safe") } == errSecItemNotFound)
            #expect(keys() == 0)
        }
    }

    @Test("KC-23: removing a right that went with the passcode says that it is not there, and takes what is left of it")
    func removingAfterPasscodeRemoved() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
            try device.removePasscode("1234")
            try device.setPasscode("5678")
            #expect(keys() == 1)
            #expect(await status { try await store.removeRight(right) } == errSecItemNotFound)
            #expect(keys() == 0)
            // The key of a right that is there stays, whoever looks for another.
            try await store.saveRight(LARight(), identifier: "other")
            #expect(await status { try await store.right(forIdentifier: "safe") } == errSecItemNotFound)
            #expect(keys() == 1)
        }
    }

    @Test("EV-64: of rights saved under one identifier at once, while others look for it, one stays and works")
    func concurrentSaves() async throws {
        try await device.run {
            for round in 0..<25 {
                let identifier = "safe \(round % 2)"
                if round % 3 == 0 { try await store.removeAllRights() }
                await withTaskGroup(of: Void.self) { group in
                    for writer in 0..<3 {
                        group.addTask {
                            await expectNoError {
                                try await LARightStore.shared.saveRight(
                                    LARight(), identifier: identifier, secret: Data("\(writer)".utf8))
                            }
                        }
                    }
                    group.addTask { _ = try? await LARightStore.shared.right(forIdentifier: identifier) }
                }
                let right = try await store.right(forIdentifier: identifier)
                device.present(.finger(1))
                #expect(await authorize(right) == nil)
                #expect(["0", "1", "2"].contains(String(decoding: try await right.secret.rawData, as: UTF8.self)))
                let signature = try await right.key.sign(message, algorithm: algorithm)
                try await right.key.publicKey.verify(message, signature: signature, algorithm: algorithm)
                #expect(keys() == (round % 3 == 0 ? 1 : 2), "each that was replaced is gone with its key")
            }
        }
    }

    private func expectNoError(_ body: @Sendable () async throws -> Void) async {
        do { try await body() } catch { Issue.record("\(error)") }
    }

    // MARK: removing

    @Test("EV-64: what is removed is gone with key and secret, and removing what is not there is an error")
    func removing() async throws {
        try await device.run {
            let right = try await store.saveRight(LARight(), identifier: "one", secret: secret)
            try await store.saveRight(LARight(), identifier: "two")
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            try await store.removeRight(right)
            #expect(await status { try await store.right(forIdentifier: "one") } == errSecItemNotFound)
            #expect(await status { try await store.removeRight(right) } == errSecItemNotFound)
            #expect(await status { _ = try await right.secret.rawData } == errSecItemNotFound)
            #expect(await status { try await right.key.sign(message, algorithm: algorithm) } == errSecItemNotFound)
            try await store.removeRight(forIdentifier: "two")
            #expect(await status { try await store.removeRight(forIdentifier: "two") } == errSecItemNotFound)
            #expect(keys() == 0)
        }
    }

    @Test("EV-64: an app sees and removes its own rights only, also where it shares a group")
    func apps() async throws {
        let groups = ["TEAM.shared"]
        try await device.run(as: "org.example.app", keychainAccessGroups: groups) {
            _ = try await store.saveRight(LARight(), identifier: "safe", secret: secret)
        }
        try await device.run(as: "org.example.widget", keychainAccessGroups: groups) {
            #expect(await status { try await store.right(forIdentifier: "safe") } == errSecItemNotFound)
            #expect(await status { try await store.removeRight(forIdentifier: "safe") } == errSecItemNotFound)
            try await store.saveRight(LARight(), identifier: "safe", secret: Data("mine".utf8))
            try await store.removeAllRights()
            try await store.removeAllRights()
            #expect(await status { try await store.right(forIdentifier: "safe") } == errSecItemNotFound)
        }
        try await device.run(as: "org.example.app", keychainAccessGroups: groups) {
            let right = try await store.right(forIdentifier: "safe")
            device.present(.finger(1))
            #expect(await authorize(right) == nil)
            #expect(try await right.secret.rawData == secret)
        }
    }

    @Test("EV-64: items and keys of the app's own stay when all rights go")
    func ownItemsStay() async throws {
        try await device.run {
            let item: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: "safe", kSecValueData: secret,
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            try await store.saveRight(LARight(), identifier: "safe")
            try await store.removeAllRights()
            var found: CFTypeRef?
            let query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            ]
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            #expect((found as? [Any])?.count == 1)
        }
    }

    // MARK: completions

    /// Takes what a form with a completion answers.
    private final class Answer: Sendable {
        private let received = Mutex<[(data: Data?, error: NSError?)]>([])

        func take(_ data: Data?, _ error: (any Error)?) {
            #expect(!Thread.isMainThread)
            received.withLock { $0.append((data, error as NSError?)) }
        }

        func finish(_ error: (any Error)?) { take(error == nil ? Data() : nil, error) }

        func find(_ right: LAPersistedRight?, _ error: (any Error)?) { take(right.map { _ in Data() }, error) }

        /// The one answer, which is data or an error.
        func data() async -> Data? {
            await eventually { received.withLock { !$0.isEmpty } }
            let (data, error) = received.withLock { $0.first } ?? (nil, nil)
            #expect(received.withLock { $0.count } == 1)
            #expect((data == nil) == (error != nil), "\(String(describing: error))")
            return data
        }
    }

    @Test("EV-64: every form with a completion answers once, off the main thread")
    func completions() async throws {
        try await device.run {
            let (saved, savedWithSecret, checked, authorized) = (Answer(), Answer(), Answer(), Answer())
            store.saveRight(LARight(), identifier: "a", completion: saved.find)
            #expect(await saved.data() != nil)
            store.saveRight(LARight(), identifier: "b", secret: secret, completion: savedWithSecret.find)
            #expect(await savedWithSecret.data() != nil)
            let right = try await store.right(forIdentifier: "b")
            right.checkCanAuthorize(completion: checked.finish)
            #expect(await checked.data() != nil)
            device.present(.finger(1))
            right.authorize(localizedReason: "test", completion: authorized.finish)
            #expect(await authorized.data() != nil)

            let (loaded, signed, verified, encrypted) = (Answer(), Answer(), Answer(), Answer())
            right.secret.loadData(completion: loaded.take)
            #expect(await loaded.data() == secret)
            let (key, publicKey) = (right.key, right.key.publicKey)
            key.sign(message, algorithm: algorithm, completion: signed.take)
            let signature = try #require(await signed.data())
            publicKey.verify(message, signature: signature, algorithm: algorithm, completion: verified.finish)
            #expect(await verified.data() != nil)
            let encryption = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
            publicKey.encrypt(message, algorithm: encryption, completion: encrypted.take)
            let ciphertext = try #require(await encrypted.data())

            let (decrypted, exported, exchanged, forged) = (Answer(), Answer(), Answer(), Answer())
            key.decrypt(ciphertext, algorithm: encryption, completion: decrypted.take)
            #expect(await decrypted.data() == message)
            publicKey.exportBytes(completion: exported.take)
            let bytes = try #require(await exported.data())
            key.exchangeKeys(
                publicKey: bytes, algorithm: .ecdhKeyExchangeStandard, parameters: [:], completion: exchanged.take)
            #expect(await exchanged.data()?.count == 32)
            publicKey.verify(secret, signature: signature, algorithm: algorithm, completion: forged.finish)
            #expect(await forged.data() == nil)

            let (removed, removedByName, removedAll, missing) = (Answer(), Answer(), Answer(), Answer())
            store.removeRight(right, completion: removed.finish)
            #expect(await removed.data() != nil)
            store.removeRight(forIdentifier: "a", completion: removedByName.finish)
            #expect(await removedByName.data() != nil)
            store.right(forIdentifier: "a", completion: missing.find)
            #expect(await missing.data() == nil)
            store.removeAllRights(completion: removedAll.finish)
            #expect(await removedAll.data() != nil)
        }
    }

    /// The keys that rights have.
    private func keys() -> Int {
        var found: CFTypeRef?
        let query: [CFString: Any] = [
            kSecClass: kSecClassKey, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
        ]
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        #expect(status == errSecSuccess || status == errSecItemNotFound)
        return (found as? [Any])?.count ?? 0
    }
}
