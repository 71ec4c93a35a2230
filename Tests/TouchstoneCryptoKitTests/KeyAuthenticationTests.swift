import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Who is asked when a key of the enclave is used, how often, and what an app catches where nobody proved anything.
@Suite(.timeLimit(.minutes(10))) struct KeyAuthenticationTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    @Test("SE-15: making and taking up a key under a constraint asks nobody", arguments: Kind.all)
    func unprompted(_ kind: Kind) throws {
        try device.run(prompts: 0) {
            device.present(.cancel)
            let key = try kind.make(control(.biometryCurrentSet), nil)
            _ = try kind.restore(key.dataRepresentation, nil)
        }
    }

    @Test("SE-16: without a context each use is a prompt", arguments: Kind.all) func withoutContext(_ kind: Kind) throws
    {
        try device.run(prompts: 3) {
            let key = try kind.make(control(.userPresence), nil)
            device.present(.finger(1), .finger(1), .nonMatch, .fallback, .passcode("1234"))
            for _ in 0..<3 { #expect(try key.works()) }
        }
    }

    @Test("SE-05, SE-16: with a context all uses are one prompt", arguments: Kind.all)
    func withContext(_ kind: Kind) throws {
        try device.run(prompts: 1) {
            let context = LAContext()
            let key = try kind.make(control(.biometryCurrentSet), context)
            device.present(.finger(1))
            for _ in 0..<3 { #expect(try key.works()) }
            #expect(try kind.restore(key.dataRepresentation, context).works())
        }
    }

    @Test("SE-05: a context that was evaluated before is no prompt") func evaluatedContext() async throws {
        try await device.run {
            let context = LAContext()
            device.present(.finger(1))
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r")
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control(.userPresence), authenticationContext: context)
            for _ in 0..<100 { _ = try key.signature(for: Data()) }
            #expect(device.prompts.count == 1)
        }
    }

    @Test("The prompt says what the context says") func reason() throws {
        try device.run {
            let context = LAContext()
            context.localizedReason = "sign in"
            context.localizedCancelTitle = "Not now"
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control(.userPresence), authenticationContext: context)
            device.present(.finger(1))
            _ = try key.signature(for: Data())
            #expect(device.prompts.map(\.reason) == ["sign in"])
            #expect(device.prompts.map(\.cancelTitle) == ["Not now"])
        }
    }

    @Test("A cancelled prompt is LAError.userCancel, and the next one can succeed", arguments: Kind.all)
    func cancelled(_ kind: Kind) throws {
        try device.run(prompts: 2) {
            let key = try kind.make(control(.userPresence), nil)
            device.present(.cancel)
            #expect { _ = try key.works() } throws: { ($0 as? LAError)?.code == .userCancel }
            device.present(.finger(1))
            #expect(try key.works())
        }
    }

    @Test("Three misses are LAError.authenticationFailed") func misses() throws {
        try device.run {
            let key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: control(.biometryAny))
            device.present(.nonMatch, .nonMatch, .nonMatch)
            #expect { _ = try key.signature(for: Data()) } throws: {
                ($0 as? LAError)?.code == .authenticationFailed
            }
        }
    }

    @Test("EV-54: where nobody may be asked it is LAError.notInteractive, and nobody is") func notInteractive() throws {
        try device.run(prompts: 0) {
            let context = LAContext()
            context.interactionNotAllowed = true
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control(.userPresence), authenticationContext: context)
            device.present(.finger(1))
            #expect { _ = try key.signature(for: Data()) } throws: { ($0 as? LAError)?.code == .notInteractive }
        }
    }

    @Test("EV-50: an invalidated context uses no key") func invalidated() throws {
        try device.run(prompts: 0) {
            let context = LAContext()
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control(.userPresence), authenticationContext: context)
            context.invalidate()
            device.present(.finger(1))
            #expect { _ = try key.signature(for: Data()) } throws: { ($0 as? LAError)?.code == .invalidContext }
        }
    }

    @Test("A context that proved the passcode does not use a key for fingers") func passcodeForFinger() async throws {
        try await device.run {
            let context = LAContext()
            device.present(.nonMatch, .fallback, .passcode("1234"))
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r")
            let key = try SecureEnclave.P256.Signing.PrivateKey(
                accessControl: control(.biometryAny), authenticationContext: context)
            device.present(.cancel)
            #expect { _ = try key.signature(for: Data()) } throws: { ($0 as? LAError)?.code == .userCancel }
            device.present(.finger(1))
            _ = try key.signature(for: Data())
        }
    }

    @Test("AC-48: a key under an application password wants it of the context") func applicationPassword() throws {
        // Nobody is there to be asked for it.
        device.setAttended(false)
        try device.run(prompts: 0) {
            let context = LAContext()
            let control = try control(.applicationPassword)
            #expect { _ = try SecureEnclave.MLDSA65.PrivateKey(accessControl: control) } throws: {
                ($0 as? LAError)?.code == .authenticationFailed
            }
            context.setCredential(Data("secret".utf8), type: .applicationPassword)
            let key = try SecureEnclave.MLDSA65.PrivateKey(accessControl: control, authenticationContext: context)
            #expect(key.publicKey.isValidSignature(try key.signature(for: Data()), for: Data()))
            let wrong = LAContext()
            wrong.setCredential(Data("other".utf8), type: .applicationPassword)
            let other = try SecureEnclave.MLDSA65.PrivateKey(
                dataRepresentation: key.dataRepresentation, authenticationContext: wrong)
            #expect { try other.signature(for: Data()) } throws: { ($0 as? LAError)?.code == .authenticationFailed }
        }
    }
}
