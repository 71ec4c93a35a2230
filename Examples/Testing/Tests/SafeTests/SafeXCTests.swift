import LocalAuthentication
import TouchstoneTesting
import XCTest

@testable import Safe

final class SafeXCTests: XCTestCase {
    private let safe = Safe()
    private let context = LAContext()  // made before there is a device
    private var device: SimulatedDevice!

    override class func setUp() {
        SimulatedDevice.process(as: "org.example.safe", keychainAccessGroups: ["TEAM.shared"])
    }

    override func setUpWithError() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
        device.always(.match)  // whenever nothing else is presented
    }

    override func tearDown() {
        device = nil  // XCTest keeps its tests, and a test its properties, until the end
    }

    func testAFingerOpensTheSafe() throws {
        try safe.put("42")
        XCTAssertEqual(try safe.open(context), "42")
        XCTAssertEqual(device.prompts.map(\.app), ["org.example.safe"])
    }

    func testCancelLeavesItShut() throws {
        try safe.put("42")
        device.present(.cancel)
        XCTAssertThrowsError(try safe.open(context))
    }
}
