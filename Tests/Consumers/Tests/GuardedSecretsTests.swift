import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite struct GuardedSecretsTests {
    @Test("AC-25, AC-42: one prompt opens a secret until it is closed")
    func onePrompt() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let secrets = GuardedSecrets(service: "vault")
            try secrets.set(Data("s".utf8), for: "a")
            try secrets.set(Data("s2".utf8), for: "a")
            device.present(.finger(1))
            #expect(try secrets.secret("a", prompt: "show it") == Data("s2".utf8))
            #expect(try secrets.secret("a", prompt: "show it") == Data("s2".utf8))
            #expect(device.prompts.count == 1)
            secrets.close()
            device.present(.cancel)
            let error = #expect(throws: NSError.self) { try secrets.secret("a", prompt: "show it") }
            #expect(error?.code == Int(errSecUserCanceled) && error?.domain == NSOSStatusErrorDomain)
            #expect(device.prompts.count == 2)
            #expect(try secrets.secret("nothing", prompt: "show it") == nil)
        }
    }

    @Test("AC-41: whether there is a secret is found out without a prompt, in two ways")
    func asksNobody() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let secrets = GuardedSecrets(service: "vault", flags: [.biometryCurrentSet, .or, .devicePasscode])
            try secrets.set(Data("s".utf8), for: "a")
            #expect(secrets.contains("a") && !secrets.contains("b"))
            #expect(try secrets.exists("a"))
            #expect(try !secrets.exists("b"))
            #expect(device.prompts.isEmpty)
        }
    }

    @Test("AC-02, KC-23: flags that exclude each other and a device without a passcode are errors")
    func refused() throws {
        try SimulatedDevice().run {
            let error = #expect(throws: NSError.self) {
                try GuardedSecrets(service: "vault", flags: [.or, .and, .devicePasscode]).set(Data(), for: "a")
            }
            #expect(error?.code == Int(errSecParam))
            #expect(throws: NSError.self) { try GuardedSecrets(service: "vault").set(Data("s".utf8), for: "a") }
            #expect(!GuardedSecrets(service: "vault").contains("a"))
        }
    }

    @Test("AC-51: a finger more, and the secret is gone for an item of the current set")
    func enrolmentChanged() throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.run {
            let secrets = GuardedSecrets(service: "vault", flags: .biometryCurrentSet)
            try secrets.set(Data("s".utf8), for: "a")
            #expect(secrets.contains("a"))
            _ = try device.enrollFinger()
            #expect(!secrets.contains("a"))
            #expect(device.prompts.isEmpty)
        }
    }
}
