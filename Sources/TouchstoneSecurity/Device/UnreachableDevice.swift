internal import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneSystem
internal import TouchstoneTransport

/// Says once in a process, on standard error, that there is no device and what would help.
enum UnreachableDevice {
    static func report(_ endpoint: any VarlinkEndpoint) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        guard isFirst else { return }
        let words = message(
            endpoint, arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment)
        FileHandle.standardError.write(Data("touchstone: \(words)\n".utf8))
    }

    /// A sentence without a full stop.
    static func message(
        _ endpoint: any VarlinkEndpoint, arguments: [String], environment: [String: String]
    ) -> String {
        if endpoint.target is AmbiguousEndpoint {
            return "there are several simulated devices in this process, and this call does not name one: "
                + "call inside 'device.run { … }'; another thread does not see that, so give the call an LAContext that was made inside"
        }
        let paths = DevicePaths.selected(environment)
        guard DevicePaths.isValid(name: paths.name) else {
            return "\(DevicePaths.environmentVariable) is not the name of a device"
        }
        guard isTest(arguments) else { return paths.advice }
        // Who names a device wants that one, in a test too.
        let named = environment[DevicePaths.environmentVariable] == nil ? "" : "; or \(paths.advice)"
        return "this test has no device; make one with 'let device = try SimulatedDevice()' of TouchstoneTesting, "
            + "and call inside 'device.run { … }'" + named
    }

    /// Whether `swift test` runs this process, by how it starts one: a bundle of tests, or a program that runs one.
    static func isTest(_ arguments: [String]) -> Bool {
        guard let program = arguments.first.map({ URL(fileURLWithPath: $0).lastPathComponent }) else { return false }
        return program.hasSuffix(".xctest") || program.hasSuffix("-test-runner") || program == "swiftpm-testing-helper"
            || arguments.contains("--testing-library")
    }

    private static let isReported = Mutex(false)
}
