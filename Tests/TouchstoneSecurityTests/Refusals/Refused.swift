import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog

@testable import TouchstoneTesting

/// One cause of a refusal: how it comes about, the line that explains it, and what the log says of it.
struct Refused: Sendable, CustomTestStringConvertible {
    let name: String
    let line: String
    /// Event, what was asked, result; `-` where there is none.
    let logged: String
    let device: @Sendable () throws -> SimulatedDevice
    /// Runs on the device; the last call is refused.
    let happen: @Sendable (SimulatedDevice) async throws -> Void

    init(
        _ name: String, _ line: String, logged: String,
        on device: @escaping @Sendable () throws -> SimulatedDevice = Refused.withFinger,
        _ happen: @escaping @Sendable (SimulatedDevice) async throws -> Void
    ) {
        self.name = name
        self.line = line
        self.logged = logged
        self.device = device
        self.happen = happen
    }

    var testDescription: String { name }

    @Sendable static func withFinger() throws -> SimulatedDevice { try SimulatedDevice(passcode: "1234", fingers: 1) }
    @Sendable static func withPasscode() throws -> SimulatedDevice { try SimulatedDevice(passcode: "1234") }
    @Sendable static func fresh() throws -> SimulatedDevice { try SimulatedDevice() }
    @Sendable static func withoutSensor() throws -> SimulatedDevice {
        try SimulatedDevice(biometry: .none, passcode: "1234")
    }
    @Sendable static func withFace() throws -> SimulatedDevice {
        try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
    }
    @Sendable static func withoutFace() throws -> SimulatedDevice {
        try SimulatedDevice(biometry: .faceID, passcode: "1234")
    }
}

/// What an app does in these tests: the same item, by names that no line may have.
enum App {
    static let canary = "CANARY"

    static func item(_ more: Entries = [:]) -> Entries {
        let item: Entries = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: canary, kSecAttrService: canary,
            kSecAttrLabel: canary,
        ]
        return item.merging(more) { _, more in more }
    }

    @discardableResult
    static func add(
        _ flags: SecAccessControlCreateFlags?, _ protection: CFString = kSecAttrAccessibleWhenUnlocked,
        _ more: Entries = [:]
    ) throws -> OSStatus {
        var item = item(more)
        item[kSecValueData] = Data(canary.utf8)
        if let flags {
            item[kSecAttrAccessControl] = try control(flags, protection)
        } else {
            item[kSecAttrAccessible] = protection
        }
        return SecItemAdd(item as CFDictionary, nil)
    }

    @discardableResult
    static func read(_ more: Entries = [:]) -> OSStatus {
        var query = item(more)
        query[kSecReturnData] = true
        var found: CFTypeRef?
        return SecItemCopyMatching(query as CFDictionary, &found)
    }

    /// A context with this application password.
    static func context(password: String) -> LAContext {
        let context = LAContext()
        #expect(context.setCredential(Data(password.utf8), type: .applicationPassword))
        return context
    }

    /// Reads on a thread of its own, and has something happen once the prompt is up.
    static func read(
        before device: SimulatedDevice, context: LAContext? = nil, _ interruption: () async throws -> Void
    ) async throws {
        device.unanswered = .waits
        nonisolated(unsafe) let context = context
        let (ended, end) = AsyncStream<OSStatus>.makeStream()
        Thread.detachNewThread {
            let more: Entries = context.map { [kSecUseAuthenticationContext: $0] } ?? [:]
            end.yield(device.run { read(more) })
            end.finish()
        }
        while device.prompts.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        try await interruption()
        for await status in ended { #expect(status == errSecAuthFailed) }
    }
}

extension SimulatedDevice {
    /// What was refused, as the log has it: event, what was asked, result.
    func refusedInLog() throws -> [String] {
        try refusalEntries().map { "\($0.event) \($0.asked ?? "-") \($0.result)" }
    }

    func refusalEntries() throws -> [LogEntry] {
        // What was only counted is written.
        _ = try call(DeviceInterface.GetLogHead.self, Empty())
        return log.lines.compactMap(LogEntry.init(line:)).filter(\.isRefusal)
    }
}
