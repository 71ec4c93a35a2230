import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@testable import Safe

struct SafeTests {
    let device: SimulatedDevice
    let safe = Safe()

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    @Test func aFingerOpensTheSafe() throws {
        try device.run {
            try safe.put("42")
            device.present(.match)  // before the call that asks
            #expect(try safe.open() == "42")
        }
    }

    @Test func cancelLeavesItShut() throws {
        try device.run {
            try safe.put("42")
            device.present(.cancel)
            #expect(throws: Safe.Failure(status: errSecUserCanceled)) { try safe.open() }
        }
    }

    @Test func anotherFingerShutsItForGood() throws {
        try device.run {
            try safe.put("42")
            try device.enrollFinger(.leftThumb)
            #expect(throws: Safe.Failure(status: errSecItemNotFound)) { try safe.open() }
        }
    }

    @Test func theOwnerIsRecognised() async throws {
        try await device.run {
            device.present(.nonMatch, .match)
            let isOwner = try await LAContext().evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics, localizedReason: "open the safe")
            #expect(isOwner)
        }
    }
}
