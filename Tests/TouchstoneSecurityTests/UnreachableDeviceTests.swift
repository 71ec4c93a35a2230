import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneTransport

@testable import TouchstoneSecurity

/// What a process says where no device answers: the one thing that helps.
@Suite struct UnreachableDeviceTests {
    private let state = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID().uuidString)")

    private func makeDevices(_ names: [String]) throws {
        for name in names {
            try FileManager.default.createDirectory(
                at: state.appendingPathComponent("touchstone/devices/\(name)"), withIntermediateDirectories: true)
        }
    }

    private func message(_ device: String?, _ arguments: [String] = ["/usr/bin/app"]) -> String {
        var environment = ["XDG_STATE_HOME": state.path, "XDG_RUNTIME_DIR": "/nonexistent"]
        environment["TOUCHSTONE_DEVICE"] = device
        return UnreachableDevice.message(
            SocketEndpoint(path: "/nonexistent"), arguments: arguments, environment: environment)
    }

    @Test func deviceThatIsNotThereIsToBeMade() {
        #expect(
            message("phone")
                == "there is no device 'phone': make it with 'touchstone device create phone && touchstone device boot --detach phone'"
        )
    }

    @Test func deviceThatIsOffIsToBeBooted() throws {
        try makeDevices(["phone"])
        defer { try? FileManager.default.removeItem(at: state) }
        #expect(message("phone") == "phone is off: start it with 'touchstone device boot --detach phone'")
    }

    @Test func wrongNameListsTheRightOnes() throws {
        try makeDevices(["default", "phone", ".create-x-1"])
        defer { try? FileManager.default.removeItem(at: state) }
        #expect(message("phnoe").hasPrefix("there is no device 'phnoe' (yours: default, phone): make it with "))
        try makeDevices((0..<20).map { "a\($0)" })
        #expect(message("phnoe").contains(", …): make it"))
    }

    @Test func aTestIsToldOfTheKit() throws {
        let kit =
            "this test has no device; make one with 'let device = try SimulatedDevice()' of TouchstoneTesting, and call inside "
            + "'device.run { … }'"
        #expect(message(nil, ["/x/appPackageTests.xctest"]) == kit)
        // Who names a device wants it.
        try makeDevices(["phone"])
        defer { try? FileManager.default.removeItem(at: state) }
        #expect(
            message("phone", ["/x/appPackageTests.xctest"])
                == kit + "; or phone is off: start it with 'touchstone device boot --detach phone'")
    }

    @Test(
        "the processes that 'swift test' starts are tests, others are not",
        arguments: [
            (["/x/.build/debug/appPackageTests.xctest"], true), (["/x/app-test-runner"], true),
            (["/usr/libexec/swift/pm/swiftpm-testing-helper", "--test-bundle-path", "x"], true),
            (["/x/tests", "--testing-library", "swift-testing"], true), (["/usr/bin/app"], false), ([], false),
            (["/x/xctest-viewer", "a.xctest"], false),
        ])
    func tests(arguments: [String], isTest: Bool) {
        #expect(UnreachableDevice.isTest(arguments) == isTest)
    }

    @Test func thisProcessIsATest() { #expect(UnreachableDevice.isTest(CommandLine.arguments)) }
}
