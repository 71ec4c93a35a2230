import Foundation
import HTTPTypes
import TouchstoneDevice

/// Carries what the page asks for to the device.
struct DeviceCalls: Sendable {
    private let device: Device
    private let watch: DeviceWatch
    /// Calls wait for the device on threads of their own, not on those that serve.
    private let queue = DispatchQueue(label: "touchstone-simulator.calls", attributes: .concurrent)

    init(_ device: Device, _ watch: DeviceWatch) {
        self.device = device
        self.watch = watch
    }

    /// What the page may call as it is.
    ///
    /// Whatever carries a passcode is not among them: ``enter(_:for:)``.
    static let methods: Set<String> = Set(
        [
            "Device": [
                "GetStatus", "Lock", "Reboot", "Enroll", "RemoveFinger", "ListFingers", "PresentFinger",
                "ListFaceIDPermissions", "SetFaceIDPermission", "SetApplicationState", "SetSensorConnected",
                "AdvanceClock", "GetLogHead", "CheckLog",
            ],
            "Agent": ["ConfirmShown", "Cancel", "ChooseFallback", "AnswerPermission", "TryAgain"],
            "Inspector": ["ListItems"],
        ].flatMap { interface, methods in methods.map { "io.touchstone.\(interface).\($0)" } })

    /// Carries one call.
    ///
    /// - Parameters:
    ///   - method: One of ``methods``.
    ///   - parameters: The text of a JSON object.
    /// - Returns: The same.
    /// - Throws: `Refusal` for a method that is not the page's; `DeviceError`.
    func call(_ method: String, _ parameters: Data) async throws -> Data {
        guard Self.methods.contains(method) else { throw Refusal(.notFound) }
        return try await perform { device in try device.call(method, parameters) }
    }

    /// Seals what was typed, and has the enclave look at it.
    func enter(_ typed: TypedPasscodes, for use: PasscodeUse) async throws -> Data {
        let prompt = watch.tabs.newest("prompt")
        return try await perform { device in
            switch use {
            case .unlock:
                let sealed = try device.seal(typed.entries(1), for: .unlock, nonce: Self.nonce(device))
                return try device.call("io.touchstone.Device.Unlock", Self.object(["passcode": sealed]))
            case .change(let kind):
                let sealed = try device.seal(typed.entries(2), for: .change, nonce: Self.nonce(device))
                return try device.call(
                    "io.touchstone.Device.ChangePasscode", Self.object(["passcodes": sealed, "kind": Self.text(kind)]))
            case .eraseData(let isOn):
                let sealed = try device.seal(typed.entries(1), for: .eraseData(isOn), nonce: Self.nonce(device))
                return try device.call(
                    "io.touchstone.Device.SetEraseData",
                    Self.object(["isOn": Data("\(isOn)".utf8), "passcode": sealed]))
            case .prompt(let identifier):
                // Only what touchstoned said itself is sealed for: an app that the page names could be any.
                guard let prompt = prompt.flatMap({ try? JSONDecoder().decode(ShownPrompt.self, from: $0) })?.prompt,
                    prompt.identifier == identifier
                else {
                    throw DeviceError.answered(name: "io.touchstone.Agent.NoSuchPrompt", parameters: Data("{}".utf8))
                }
                let purpose: PasscodePurpose =
                    if let context = prompt.context { .credential(context: context) } else {
                        .prompt(app: prompt.app.identifier)
                    }
                let sealed = try device.seal(typed.entries(1), for: purpose, nonce: prompt.nonce)
                return try device.call(
                    "io.touchstone.Agent.EnterPasscode",
                    Self.object(["prompt": Self.text(identifier), "passcode": sealed]))
            }
        }
    }

    private func perform(_ body: @escaping @Sendable (Device) throws -> Data) async throws -> Data {
        let device = device
        defer { watch.look() }
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body(device) }) }
        }
    }

    private static func nonce(_ device: Device) throws -> Data {
        struct Reply: Decodable { var nonce: Data }
        let reply = try device.call("io.touchstone.Device.GetNonce")
        guard let nonce = try? JSONDecoder().decode(Reply.self, from: reply).nonce else {
            throw DeviceError.malformedReply
        }
        return nonce
    }

    /// An object of members that are JSON already.
    private static func object(_ members: KeyValuePairs<String, Data>) -> Data {
        Data("{".utf8) + Data(members.map { Data("\"\($0.key)\":".utf8) + $0.value }.joined(separator: Data(",".utf8)))
            + Data("}".utf8)
    }

    private static func text(_ text: String) throws -> Data { try JSONEncoder().encode(text) }
}

/// The part of a prompt for which a passcode is sealed.
private struct ShownPrompt: Decodable {
    struct Prompt: Decodable {
        struct App: Decodable { var identifier: String }
        var identifier: String
        var app: App
        var nonce: Data
        var context: String?
    }
    var prompt: Prompt?
}
