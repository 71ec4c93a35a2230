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
    /// Methods that carry a passcode are not among them; see ``enter(_:for:)``.
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
        defer { if Self.changesDevice(method) { watch.look() } }
        return try await perform { device in try device.call(method, parameters) }
    }

    /// A page that only asks would be told of a new status, ask again, and so on without end, because a running delay changes each status.
    private static func changesDevice(_ method: String) -> Bool {
        let name = method.split(separator: ".").last ?? ""
        return !["Get", "List", "Check", "Confirm"].contains { name.hasPrefix($0) }
    }

    /// Seals what was typed, and sends it to the enclave.
    func enter(_ typed: TypedPasscodes, for use: PasscodeUse) async throws -> Data {
        let prompt = watch.tabs.newest("prompt")
        defer { watch.look() }
        return try await perform { device in
            // A nonce is good on its own connection alone.
            let session = try device.connect()
            defer { session.close() }
            switch use {
            case .unlock:
                let sealed = try device.seal(typed.entries(1), for: .unlock, nonce: Self.nonce(session))
                return try session.call("io.touchstone.Device.Unlock", Self.object(["passcode": sealed]))
            case .change(let kind):
                let sealed = try device.seal(typed.entries(2), for: .change, nonce: Self.nonce(session))
                return try session.call(
                    "io.touchstone.Device.ChangePasscode", Self.object(["passcodes": sealed, "kind": Self.text(kind)]))
            case .eraseData(let isOn):
                let sealed = try device.seal(typed.entries(1), for: .eraseData(isOn), nonce: Self.nonce(session))
                return try session.call(
                    "io.touchstone.Device.SetEraseData",
                    Self.object(["isOn": Data("\(isOn)".utf8), "passcode": sealed]))
            case .prompt(let identifier, let phase):
                // Only what touchstoned said itself is sealed for: an app that the page names could be any. And only what the owner was
                // asked for: a device's passcode that is sealed as an app's password could be guessed at leisure.
                guard let prompt = prompt.flatMap({ try? JSONDecoder().decode(ShownPrompt.self, from: $0) })?.prompt,
                    prompt.identifier == identifier, prompt.phase == phase, let purpose = prompt.purpose
                else {
                    throw DeviceError.answered(name: "io.touchstone.Agent.NoSuchPrompt", parameters: Data("{}".utf8))
                }
                let sealed = try device.seal(typed.entries(1), for: purpose, nonce: prompt.nonce)
                return try session.call(
                    "io.touchstone.Agent.EnterPasscode",
                    Self.object(["prompt": Self.text(identifier), "passcode": sealed]))
            }
        }
    }

    private func perform(_ body: @escaping @Sendable (Device) throws -> Data) async throws -> Data {
        let device = device
        return try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        // Another device may have taken its name.
                        guard try SimulatedStatus.read(device).isSimulated else { throw Refusal(.forbidden) }
                        return try body(device)
                    })
            }
        }
    }

    private static func nonce(_ session: DeviceConnection) throws -> Data {
        struct Reply: Decodable { var nonce: Data }
        let reply = try session.call("io.touchstone.Device.GetNonce")
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
        var phase: String
        var nonce: Data
        var context: String?

        /// nil: nothing is typed in this phase.
        var purpose: PasscodePurpose? {
            switch phase {
            case "passcode": .prompt(app: app.identifier)
            case "applicationPassword": context.map { .credential(context: $0) }
            default: nil
            }
        }
    }
    var prompt: Prompt?
}
