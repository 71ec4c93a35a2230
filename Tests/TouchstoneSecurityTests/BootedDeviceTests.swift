import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// Against the device that the environment names, over its socket and with its enclave's own file: `Tests/Scripts/real-device.py` boots one
/// and runs these.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["TOUCHSTONE_TEST_DEVICE"] != nil))
struct BootedDeviceTests {
    private func context(_ password: String) -> LAContext {
        let context = LAContext()
        #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
        #expect(context.isCredentialSet(.applicationPassword))
        return context
    }

    private func read(_ context: LAContext?) -> (status: OSStatus, data: Data?) {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "with a password", kSecReturnData: true,
        ]
        if let context { query[kSecUseAuthenticationContext] = context }
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        return (status, result as? Data)
    }

    @Test("AC-48, DEC-005: a password sealed to the enclave's published key opens its item, and no other does")
    func applicationPassword() throws {
        let control = try #require(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .applicationPassword, nil))
        let item: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: "with a password", kSecAttrAccessControl: control,
            kSecValueData: Data("secret".utf8), kSecUseAuthenticationContext: context("right"),
        ]
        #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
        #expect(read(context("right")) == (errSecSuccess, Data("secret".utf8)))
        #expect(read(context("wrong")) == (errSecAuthFailed, nil))
        #expect(read(nil) == (errSecAuthFailed, nil))
    }

    // MARK: forgotten contexts

    private struct Reply: Equatable {
        var success: Bool
        var code: Int?
    }

    /// As apps type it: the reply does not capture the context, and nobody keeps it.
    private func authenticateMe(_ reply: @escaping @Sendable (Bool, (any Error)?) -> Void) {
        let context = LAContext()
        var error: NSError?
        if context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) {
            context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore"
            ) { success, error in
                DispatchQueue.main.async { reply(success, error) }
            }
        } else {
            reply(false, error)
        }
    }

    private func replied(_ begin: (@escaping @Sendable (Bool, (any Error)?) -> Void) -> Void) async -> Reply {
        await withCheckedContinuation { continuation in
            begin { success, error in
                continuation.resume(returning: Reply(success: success, code: (error as? LAError)?.code.rawValue))
            }
        }
    }

    @Test("EV-04: whoever forgets the context hears of the finger, in 100 of 100 runs of either shape")
    func forgottenContexts() async {
        for run in 1...100 {
            #expect(await replied(authenticateMe) == Reply(success: true), "run \(run)")
            let ofAnExpression = await replied { reply in
                LAContext().evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore", reply: reply)
            }
            #expect(ofAnExpression == Reply(success: true), "run \(run)")
        }
    }

    @Test("EV-04, EV-50: a context that is invalidated while its prompt is up replies -9")
    func invalidated() async throws {
        let context = LAContext()
        let answers = AsyncStream<Reply>.makeStream()
        // The script's finger leaves this prompt alone.
        context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "nobody touches") {
            success, error in
            answers.continuation.yield(Reply(success: success, code: (error as? LAError)?.code.rawValue))
            answers.continuation.finish()
        }
        await eventually {
            (try? DeviceEndpoint.current().client().call(DeviceInterface.GetStatus.self, Empty()))?.status.hasPrompt
                == true
        }
        context.invalidate()
        var replies: [Reply] = []
        for await reply in answers.stream { replies.append(reply) }
        #expect(replies == [Reply(success: false, code: LAError.appCancel.rawValue)])
    }
}
