import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneTesting

/// A guarded item or key is one call of the app's: the device keeps it, has the owner asked, and goes on (AC-40).
@Suite(.timeLimit(.minutes(10))) struct OneCallTests {
    private let device: SimulatedDevice
    private let guarded = account("a")

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        let control = try control(.userPresence)
        device.run { #expect(add(account("a", [kSecAttrAccessControl: control]).value("secret")) == errSecSuccess) }
    }

    /// What runs on a thread of its own, and what it comes to.
    private final class Reading: Sendable {
        let result = Mutex<OSStatus?>(nil)

        init(_ device: SimulatedDevice, as app: String? = nil, _ body: @escaping @Sendable () -> OSStatus) {
            Thread.detachNewThread { [self] in
                let status = app.map { device.run(as: $0, body) } ?? device.run(body)
                result.withLock { $0 = status }
            }
        }

        /// How it ended; waits for that.
        func status() -> OSStatus? {
            eventually { result.withLock { $0 != nil } }
            return result.withLock { $0 }
        }
    }

    /// Begins a read, and returns once its prompt is up.
    private func reading(_ query: Attributes? = nil) -> Reading {
        let before = device.prompts.count
        nonisolated(unsafe) let query = query ?? guarded
        let reading = Reading(device) { read(query) }
        eventually { device.prompts.count == before + 1 }
        return reading
    }

    // MARK: how many calls

    /// The messages while `body` runs, once what it leaves behind has ended too.
    private func messages(_ body: () throws -> Void) throws -> [InspectorInterface.Message] {
        let client = try device.booted.withLock { try $0.client() }
        let told = Collected()
        let isReady = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? client.stream(InspectorInterface.WatchMessages.self, Empty()) { reply in
                told.messages.withLock { $0 += reply.messages }
                isReady.signal()
                return true
            }
        }
        isReady.wait()
        try body()
        defer { client.close() }
        // The last thing that a call without a context does.
        eventually {
            told.messages.withLock { $0.contains { $0.method == "io.touchstone.Enclave.InvalidateContext" } }
        }
        return told.messages.withLock { $0 }
    }

    private final class Collected: Sendable { let messages = Mutex<[InspectorInterface.Message]>([]) }

    private func calls(
        _ messages: [InspectorInterface.Message], _ from: InspectorInterface.Party, _ to: InspectorInterface.Party
    ) -> [String] {
        messages.filter { $0.from == from && $0.to == to && $0.outcome == nil }
            .map { String($0.method.split(separator: ".").last ?? "") }
    }

    @Test("AC-40: a guarded read without a context is one call of the app's") func oneCall() throws {
        device.present(.finger(1))
        let messages = try messages { device.run { #expect(secret(guarded) == "secret") } }
        #expect(calls(messages, .app, .touchstoned) == ["CopyMatching"])
        let enclave = calls(messages, .touchstoned, .enclave).filter { $0 != "SubmitFinger" && $0 != "PresentFinger" }
        #expect(enclave == ["UnwrapKeys", "BeginEvaluation", "SetShown", "UnwrapKeys", "InvalidateContext"])
    }

    @Test("EV-10, DS-09: a prompt of a policy asks the enclave once how it stands, for what the app hears of a success")
    func onePolicy() throws {
        device.present(.finger(1))
        let messages = try messages {
            device.run {
                let context = LAContext()
                let hasEnded = DispatchSemaphore(value: 0)
                context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "read") {
                    isRight, _ in
                    #expect(isRight)
                    hasEnded.signal()
                }
                hasEnded.wait()
                context.invalidate()
            }
        }
        #expect(calls(messages, .touchstoned, .enclave).filter { $0 == "GetFacts" }.count == 1)
    }

    @Test("AC-40, AC-25: with a context of the app's own it is two calls, and one when it is known") func twoCalls()
        throws
    {
        let context = device.run { LAContext() }
        nonisolated(unsafe) let query = account("a", [kSecUseAuthenticationContext: context])
        device.present(.finger(1))
        let messages = try messages {
            device.run {
                #expect(secret(query) == "secret")
                #expect(secret(query) == "secret")
            }
            context.invalidate()
        }
        #expect(
            calls(messages, .app, .touchstoned) == [
                "CreateContext", "CopyMatching", "CopyMatching", "InvalidateContext",
            ])
    }

    @Test("AC-40, SE-16: so is a signature with a guarded key") func oneSignature() throws {
        try device.run {
            let parameters: Attributes = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                kSecAttrTokenID: kSecAttrTokenIDSecureEnclave,
                kSecPrivateKeyAttrs: [kSecAttrAccessControl: try control([.userPresence, .privateKeyUsage])]
                    as Attributes,
            ]
            let key = try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
            device.present(.finger(1))
            let messages = try messages {
                let message = Data("nonce".utf8) as CFData
                #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil)
            }
            #expect(calls(messages, .app, .touchstoned) == ["Sign"])
            // Refused, it is one call too, and there is no signature.
            device.present(.cancel)
            var refusal: Unmanaged<CFError>?
            let refused = try self.messages {
                let message = Data("nonce".utf8) as CFData
                #expect(SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, &refusal) == nil)
            }
            #expect(calls(refused, .app, .touchstoned) == ["Sign"])
            #expect((refusal?.takeRetainedValue() as? LAError)?.code == .userCancel)
        }
    }

    // MARK: the item's own control

    @Test("AC-40: what is asked for is what the item wants, whatever the app says") func ownControl() throws {
        let strict = try control(.devicePasscode)
        device.run {
            #expect(add(account("b", [kSecAttrAccessControl: strict]).value("strict")) == errSecSuccess)
            device.present(.passcode("1234"))
            #expect(secret(account("b", [kSecUseOperationPrompt: "only a finger, please"])) == "strict")
        }
        #expect(device.prompts.last?.asksForPasscode == true)
        #expect(device.prompts.last?.reason == "only a finger, please")
    }

    // MARK: refused

    @Test("AC-44: a prompt that the owner cancels is -128, a finger that is not theirs -25293") func refused() throws {
        let finger = try control(.biometryAny)
        device.run {
            #expect(add(account("f", [kSecAttrAccessControl: finger]).value("f")) == errSecSuccess)
            device.present(.cancel)
            #expect(read(guarded) == errSecUserCanceled)
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect(read(account("f")) == errSecAuthFailed)
            device.present(.finger(1))
            #expect(secret(guarded) == "secret")
        }
    }

    @Test("AC-41: without an agent there is nobody to ask") func noAgent() {
        device.setAttended(false)
        device.run { #expect(read(guarded) == errSecInteractionNotAllowed) }
        device.setAttended(true)
        device.run {
            device.present(.finger(1))
            #expect(secret(guarded) == "secret")
        }
    }

    @Test("AC-41: a call that does not say how to ask is refused, and nothing is shown") func withoutOptions() throws {
        try device.run {
            let client = try DeviceEndpoint.current().client()
            let query: KeychainInterface.Dictionary = [.class: .string("genp"), .returnData: .boolean(true)]
            let error = #expect(throws: RemoteError.self) {
                try client.call(KeychainInterface.CopyMatching.self, .init(query: query))
            }
            let failed = error?.as(KeychainInterface.Failed.self)
            #expect(failed?.status == errSecInteractionNotAllowed && failed?.code == nil)
            #expect(failed?.accessControl?.flags == .userPresence)
            // The connection is as good as before.
            let skipping = query.merging([.useAuthenticationUI: .string("u_AuthUIS")]) { $1 }
            let skipped = #expect(throws: RemoteError.self) {
                try client.call(
                    KeychainInterface.CopyMatching.self, .init(query: skipping, options: .init(reason: "r")))
            }
            #expect(skipped?.as(KeychainInterface.Failed.self)?.status == errSecItemNotFound)
        }
        #expect(device.prompts.isEmpty)
    }

    @Test("EV-50: closing the connection takes the prompt down, and the next call is served") func closed() throws {
        let client = try device.run { try DeviceEndpoint.current().client() }
        let query: KeychainInterface.Dictionary = [.class: .string("genp"), .returnData: .boolean(true)]
        let isOver = Mutex(false)
        Thread.detachNewThread {
            _ = try? client.call(
                KeychainInterface.CopyMatching.self, .init(query: query, options: .init(reason: "r")))
            isOver.withLock { $0 = true }
        }
        eventually { device.prompts.count == 1 }
        client.close()
        eventually { isOver.withLock { $0 } }
        eventually { device.booted.withLock { $0.prompt } == nil }
        device.run {
            device.present(.finger(1))
            #expect(secret(guarded) == "secret")
        }
        #expect(device.prompts.count == 2)
    }

    @Test("EV-50: invalidating the context ends a read that waits") func invalidated() {
        let context = device.run { LAContext() }
        let reading = reading(account("a", [kSecUseAuthenticationContext: context]))
        context.invalidate()
        #expect(reading.status() == errSecAuthFailed)
        eventually { device.booted.withLock { $0.prompt } == nil }
    }

    enum Ending: CaseIterable, Sendable { case lock, reboot, crash, background }

    @Test("EV-52: a read that waits ends as an evaluation does, and opens nothing", arguments: Ending.allCases)
    func ended(by ending: Ending) throws {
        let reading = reading()
        switch ending {
        case .lock: try device.lock()
        case .reboot: device.reboot()
        case .crash: device.crash()
        case .background: try device.setForeground(false, app: SimulatedDevice.applicationIdentifier)
        }
        #expect(reading.status() == errSecAuthFailed)
        if ending == .background { try device.setForeground(true, app: SimulatedDevice.applicationIdentifier) }
        if ending != .background { try device.unlock(passcode: "1234") }
        device.run {
            device.present(.finger(1))
            #expect(secret(guarded) == "secret")
        }
    }

    // MARK: what changes meanwhile

    @Test("Section 5: an item that was replaced while the owner was asked is found as it is then") func replaced()
        throws
    {
        let control = try control(.userPresence)
        let reading = Mutex<String?>(nil)
        let isOver = Mutex(false)
        Thread.detachNewThread { [device] in
            let found = device.run { secret(account("a")) }
            reading.withLock { $0 = found }
            isOver.withLock { $0 = true }
        }
        eventually { device.prompts.count == 1 }
        device.run {
            #expect(delete(account("a")) == errSecSuccess)
            #expect(add(account("a", [kSecAttrAccessControl: control]).value("newer")) == errSecSuccess)
        }
        device.present(.finger(1))
        eventually { isOver.withLock { $0 } }
        #expect(reading.withLock { $0 } == "newer")
        #expect(device.prompts.count == 1)
    }

    @Test("AC-20: one that is guarded more strictly by then is asked for anew") func stricter() throws {
        let strict = try control(.devicePasscode)
        let reading = reading()
        device.run {
            #expect(delete(guarded) == errSecSuccess)
            #expect(add(account("a", [kSecAttrAccessControl: strict]).value("strict")) == errSecSuccess)
        }
        device.present(.finger(1), .passcode("1234"))
        #expect(reading.status() == errSecSuccess)
        #expect(device.prompts.map(\.asksForPasscode) == [false, true])
    }

    @Test("Section 5: one that was deleted is not found, after the owner's proof") func deleted() {
        let reading = reading()
        device.run { #expect(delete(guarded) == errSecSuccess) }
        device.present(.finger(1))
        #expect(reading.status() == errSecItemNotFound)
    }

    @Test("Section 7: an update that waits holds no transaction: others read and write") func updateWaits() {
        let updating = Reading(device) { update(account("a"), [kSecValueData: Data("new".utf8)]) }
        eventually { device.prompts.count == 1 }
        device.run {
            #expect(add(account("other").value("o")) == errSecSuccess)
            #expect(secret(account("other")) == "o")
            #expect(delete(account("other")) == errSecSuccess)
        }
        device.present(.finger(1), .finger(1))
        #expect(updating.status() == errSecSuccess)
        device.run { #expect(secret(guarded) == "new") }
    }

    // MARK: many

    @Test("EV-53: of a hundred reads of one app the newest has the prompt, and none of them keeps a search waiting")
    func hundred() {
        let count = 100
        nonisolated(unsafe) let all = generic().data.all
        let readings = (0..<count).map { _ in Reading(device) { find(all).status } }
        // One after the other ends with -25293, until one is left.
        eventually { readings.filter { $0.result.withLock { $0 == errSecAuthFailed } }.count == count - 1 }
        device.run {
            for number in 0..<5 { #expect(add(account("open \(number)").value("o")) == errSecSuccess) }
            let skipping = generic().data.all.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)
            #expect((find(skipping).result as? [Data])?.count == 5)
        }
        device.run(as: "org.example.other") {
            #expect(add(account("b").value("b")) == errSecSuccess)
            #expect((find(generic().data.all).result as? [Data])?.count == 1)
        }
        device.present(.finger(1))
        eventually { readings.allSatisfy { $0.result.withLock { $0 != nil } } }
        #expect(readings.filter { $0.result.withLock { $0 } == errSecSuccess }.count == 1)
    }

    @Test("EV-53: reads of two apps have their prompts one after the other, and both succeed") func twoApps() throws {
        let control = try control(.userPresence)
        device.run(as: "org.example.other") {
            #expect(add(account("a", [kSecAttrAccessControl: control]).value("theirs")) == errSecSuccess)
        }
        let mine = reading()
        let theirs = Reading(device, as: "org.example.other") { read(account("a")) }
        eventually { device.booted.withLock { $0.waitingEvaluations } == 1 }
        device.present(.finger(1))
        #expect(mine.status() == errSecSuccess)
        eventually { device.prompts.count == 2 }
        #expect(theirs.result.withLock { $0 } == nil)
        device.present(.finger(1))
        #expect(theirs.status() == errSecSuccess)
        #expect(device.prompts.map(\.app).last == "org.example.other")
    }
}
