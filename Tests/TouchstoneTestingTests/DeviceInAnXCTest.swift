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
        wait(for: [replied], timeout: 300)

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

/// A class as there are many: its properties are made for all of its tests before the first one runs, and before there is a device.
final class DeviceOfAClass: XCTestCase {
    private let context = LAContext()
    private var device: SimulatedDevice!

    override class func setUp() {
        SimulatedDevice.process(as: "org.example.app", keychainAccessGroups: ["TEAM.shared"])
    }

    override class func tearDown() {
        SimulatedDevice.process(as: nil)
    }

    override func setUpWithError() throws {
        device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        device.always(.match)
    }

    override func tearDown() {
        device = nil
    }

    func testAContextOfAPropertyMeetsTheDeviceOfTheTest() throws {
        XCTAssertTrue(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil))
        let replied = expectation(description: "replied")
        context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "test") { isOwner, error in
            XCTAssertTrue(isOwner, "\(String(describing: error))")
            replied.fulfill()
        }
        wait(for: [replied], timeout: 300)
        XCTAssertEqual(device.prompts.map(\.app), ["org.example.app"])
    }

    func testTheProcessHasTheGroupsOfTheApp() throws {
        func add(to group: String?) -> OSStatus {
            var item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecValueData as String: Data("token".utf8),
            ]
            item[kSecAttrAccessGroup as String] = group
            return SecItemAdd(item as CFDictionary, nil)
        }
        let read: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true,
            kSecUseAuthenticationContext as String: context,
        ]
        XCTAssertEqual(add(to: nil), errSecSuccess)
        XCTAssertEqual(add(to: "TEAM.shared"), errSecDuplicateItem, "KC-41: the first group is the default")
        XCTAssertEqual(add(to: "TEAM.other"), errSecMissingEntitlement, "KC-42")
        var found: CFTypeRef?
        XCTAssertEqual(SecItemCopyMatching(read as CFDictionary, &found), errSecSuccess)
        XCTAssertEqual(found as? Data, Data("token".utf8))
        device.run(as: "org.example.widget", keychainAccessGroups: ["TEAM.shared"]) {
            XCTAssertEqual(SecItemCopyMatching(read as CFDictionary, &found), errSecSuccess)
        }
        device.run(as: "org.example.other") {
            XCTAssertEqual(SecItemCopyMatching(read as CFDictionary, &found), errSecItemNotFound)
        }
    }
}
