import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite struct RightsTests {
    @Test("EV-64: a part of the app opens with a finger and closes again")
    @MainActor func privateArea() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            let area = PrivateArea()
            device.present(.finger(1), .cancel)
            try await area.open()
            #expect(area.isOpen)
            await area.close()
            await #expect(throws: LAError.self) { try await area.open() }
            #expect(!area.isOpen)
        }
    }

    @Test("EV-64: a server's challenge is signed and the token read after one prompt, and nothing after another's")
    func serverAccess() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            let access = ServerAccess(identifier: "server")
            let point = try await access.enroll(token: Data("token".utf8))
            let challenge = Data("challenge".utf8)
            device.present(.finger(1))
            let answer = try await access.answer(challenge)
            #expect(answer.token == Data("token".utf8) && device.prompts.count == 1)
            let attributes: [CFString: Any] = [
                kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClass: kSecAttrKeyClassPublic,
            ]
            let key = try #require(SecKeyCreateWithData(point as CFData, attributes as CFDictionary, nil))
            #expect(
                SecKeyVerifySignature(
                    key, .ecdsaSignatureMessageX962SHA256, challenge as CFData, answer.signature as CFData, nil))
            device.present(.cancel)
            let error = await #expect(throws: LAError.self) { try await access.answer(challenge) }
            #expect(error?.code == .userCancel)
            let isRemoved = await withCheckedContinuation { continuation in
                access.leave { continuation.resume(returning: $0) }
            }
            #expect(isRemoved)
            await #expect(throws: NSError.self) { try await access.answer(challenge) }
        }
    }

    @Test("CE-19: the button follows what the owner can be asked for")
    func button() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await device.run {
            let button = SignInButton()
            button.appear()
            #expect(button.symbol == "touchid")
            let known = LAContext().domainState.biometry.stateHash
            #expect(isSameOwner(as: known))
            try device.removeFinger(1)
            for _ in 0..<300_000 where button.symbol != "lock" { try await Task.sleep(for: .milliseconds(1)) }
            #expect(button.symbol == "lock")
            #expect(!isSameOwner(as: known))
            button.disappear()
        }
    }
}
