import Foundation
import Glibc
import Testing
import TouchstoneCore
import TouchstoneSystem
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

    @Test("DEC-306: where somebody listens for the device, it boots when it is first used")
    func deviceThatSystemdBoots()
        throws
    {
        try makeDevices(["phone"])
        let runtime = state.appendingPathComponent("touchstone/phone")
        try FileManager.default.createDirectory(at: runtime, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: state) }
        let path = runtime.appendingPathComponent("touchstoned.sock").path
        let paths = DevicePaths(
            name: "phone", environment: ["XDG_STATE_HOME": state.path, "XDG_RUNTIME_DIR": state.path])
        #expect(paths.socket.path == path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0)
        // The twin: a socket that nobody listens at boots nothing.
        #expect(paths.bootCommand == "touchstone device boot --detach phone")
        #expect(listen(descriptor, 1) == 0)
        #expect(paths.bootCommand == "systemctl --user start touchstone@phone.service")
        #expect(
            paths.advice
                == "phone is off: it boots when it is first used, or with 'systemctl --user start touchstone@phone.service'"
        )
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
