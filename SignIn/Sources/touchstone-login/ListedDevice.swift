import Foundation
import TouchstoneSignInProtocol

/// A device of the account, as this program shows it.
struct ListedDevice: Encodable {
    var keyID: String
    var name: String
    var state: String
    /// Seconds since 1970.
    var registeredAt: Int
    var lastUsedAt: Int?
    var isThisDevice: Bool

    init(_ device: Body.Device, own: Data?) {
        keyID = device.keyID
        name = PlainText.line(device.deviceName)
        state = device.state.rawValue
        registeredAt = device.registeredAt
        lastUsedAt = device.lastUsedAt
        isThisDevice = device.keyID == own?.base64URL
    }

    /// One line for each, the key id first, for `touchstone-login revoke`.
    static func show(_ devices: [ListedDevice]) {
        for device in devices {
            var line = "\(PlainText.line(device.keyID))  \(device.state)  \(device.name)"
            line += ", registered \(PlainText.date(device.registeredAt))"
            if let used = device.lastUsedAt { line += ", used \(PlainText.date(used))" }
            StandardOutput.say(device.isThisDevice ? line + ", this device" : line)
        }
    }
}
