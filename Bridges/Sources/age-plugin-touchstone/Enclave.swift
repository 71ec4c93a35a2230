import AgePlugin
import BridgeCore
import Foundation
import TouchstoneDevice

/// What decrypting with a key takes: the words of age-plugin-se (AG-5).
enum AccessControl: String, CaseIterable {
    case none
    case passcode
    case anyBiometry = "any-biometry"
    case anyBiometryOrPasscode = "any-biometry-or-passcode"
    case anyBiometryAndPasscode = "any-biometry-and-passcode"
    case currentBiometry = "current-biometry"
    case currentBiometryAndPasscode = "current-biometry-and-passcode"

    static let privateKeyUsage = 1 << 30

    /// Bits of SecAccessControlCreateFlags.
    var flags: Int {
        let both = 1 << 15
        let wanted =
            switch self {
            case .none: 0
            case .passcode: 16
            case .anyBiometry: 2
            case .anyBiometryOrPasscode: 1
            case .anyBiometryAndPasscode: 2 | 16 | both
            case .currentBiometry: 8
            case .currentBiometryAndPasscode: 8 | 16 | both
            }
        return Self.privateKeyUsage | wanted
    }
}

/// The keys of age's in the enclave.
struct Enclave: Sendable {
    let device: Device
    private let approvals: Approvals

    /// - Throws: `BridgeFailure.invalid`: TOUCHSTONE_DEVICE is no name of a device.
    static func selected() throws(BridgeFailure) -> Enclave {
        do throws(DeviceError) { return Enclave(device: try Device.selected()) } catch { throw .invalid }
    }

    private init(device: Device) {
        self.device = device
        approvals = Approvals(device: device)
    }

    private struct Control: Codable { var protection: String; var flags: Int }
    private struct CreateRequest: Encodable { var kind = "p256"; var accessControl: Control }
    private struct Created: Decodable { var key: Data; var publicKey: Data }
    private struct InspectRequest: Encodable { var key: Data }
    private struct Inspected: Decodable { var publicKey: Data; var accessControl: Control }
    private struct ExchangeRequest: Encodable {
        var key: Data
        var publicKey: Data
        /// LAAccessControlOperation.useKeyDecrypt.
        var operation = 4
        var context: String
        var options: AskingOptions?
        var keyLabel: String
    }
    private struct Exchanged: Decodable { var sharedSecret: Data }

    /// Makes a key; nobody is asked.
    func create(_ control: AccessControl) throws(BridgeFailure) -> PluginIdentity {
        let request = CreateRequest(accessControl: Control(protection: "aku", flags: control.flags))
        let made: Created = try call("Key.Create", request)
        guard let recipient = TagRecipient(point: made.publicKey) else { throw .invalid }
        return PluginIdentity(recipient: recipient, key: made.key)
    }

    /// Whether the owner is asked before the key is used.
    ///
    /// - Throws: `BridgeFailure.gone` or `.invalid`: it is not a key of this device and this program, or not the one whose recipient
    ///   the identity names.
    func asks(_ identity: PluginIdentity) throws(BridgeFailure) -> Bool {
        let found: Inspected = try call("Key.Inspect", InspectRequest(key: identity.key))
        guard found.publicKey == identity.recipient.point else { throw .invalid }
        return found.accessControl.flags != AccessControl.privateKeyUsage
    }

    /// What the key and each of the shares agree on: one prompt for all of them (AG-4).
    ///
    /// - Parameters:
    ///   - identity: The key.
    ///   - shares: Of stanzas that are for it.
    ///   - files: How many files they are of.
    ///   - client: Who wants it.
    ///   - isWaitedOn: Whether it still does.
    /// - Returns: The coordinate x for each share, in their order.
    /// - Throws: `BridgeFailure`.
    func agree(
        _ identity: PluginIdentity, _ shares: [Data], files: Int, for client: Client,
        while isWaitedOn: @escaping @Sendable () -> Bool
    ) throws(BridgeFailure) -> [Data] {
        let recipient = identity.recipient.description
        // Names of files are not known to a plugin: the prompt says how many.
        let request = ApprovalRequest(
            client: client, item: recipient, purpose: "decrypt", destination: nil,
            reason: files == 1 ? "decrypt a file" : "decrypt \(files) files", facts: [Fact(.recipient, recipient)])
        return try approvals.perform(request, while: isWaitedOn) { proof throws(DeviceError) in
            var agreed: [Data] = []
            for share in shares {
                let exchange = ExchangeRequest(
                    key: identity.key, publicKey: share, context: proof.context, options: proof.options,
                    keyLabel: "age key")
                agreed.append(try proof.call("Key.ExchangeKeys", exchange, Exchanged.self).sharedSecret)
            }
            return agreed
        }
    }

    private func call<Reply: Decodable>(_ method: String, _ parameters: some Encodable) throws(BridgeFailure) -> Reply {
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            return try connection.call(method, parameters, Reply.self)
        } catch {
            throw BridgeFailure(error)
        }
    }
}

extension BridgeFailure {
    /// For a person.
    var sentence: String {
        switch self {
        case .cancelled: "you cancelled it"
        case .denied:
            "the finger or passcode did not match, or the device refuses it; touchstone doctor says what is missing"
        case .locked: "the device is locked; unlock it with: touchstone device unlock"
        case .unavailable: "Touchstone cannot ask you; start the device and touchstone-agent"
        case .gone: "the key is not on this device, or can never be used again"
        case .invalid: "this is not a key of this device, or the request is wrong"
        case .busy, .displaced: "too many requests wait; try again later"
        case .clientGone: "nobody waits for it any more"
        }
    }
}
