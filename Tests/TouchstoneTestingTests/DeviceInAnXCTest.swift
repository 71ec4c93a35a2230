import LocalAuthentication
import Security
import TouchstoneTesting
import XCTest

/// The same device in XCTest: alone in its process, it is used without being named.
final class DeviceInAnXCTest: XCTestCase {
    func testTheOnlyDeviceOfTheProcessIsUsed() throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        let context = LAContext()
        XCTAssertTrue(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil))
        XCTAssertEqual(context.biometryType, .faceID)

        device.present(.finger(1))
        let replied = expectation(description: "replied")
        context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "test") { isOwner, error in
            XCTAssertTrue(isOwner)
            XCTAssertNil(error)
            replied.fulfill()
        }
        wait(for: [replied], timeout: 30)

        device.reboot()
        var error: NSError?
        XCTAssertFalse(LAContext().canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error))
        XCTAssertEqual((error as? LAError)?.code, .biometryLockout)
    }

    func testWithoutADeviceNothingIsAvailable() {
        setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
        XCTAssertEqual(
            SecItemDelete([kSecClass as String: kSecClassGenericPassword] as CFDictionary), errSecNotAvailable)
    }
}
