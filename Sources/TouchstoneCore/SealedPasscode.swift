package import Foundation

/// A passcode that only the enclave can read: HPKE (X25519, HKDF-SHA256, ChaCha20-Poly1305) to the enclave's published key,
/// with what it was typed for and the enclave's nonce authenticated: whoever carries it can use it for nothing else, and once.
package struct SealedPasscode: Hashable, Sendable {
    /// 32 bytes.
    package var encapsulatedKey: Data
    package var ciphertext: Data
    /// The enclave's public key that it is sealed to, so that an old one is told from anything else that does not open; nil: not said.
    package var key: Data?
    package init(encapsulatedKey: Data, ciphertext: Data, key: Data? = nil) {
        self.encapsulatedKey = encapsulatedKey
        self.ciphertext = ciphertext
        self.key = key
    }

    package static let info = Data("io.touchstone.passcode 1".utf8)

    /// What a passcode is typed for.
    package enum Purpose: Hashable, Sendable {
        /// A prompt of this app's (its identifier).
        case prompt(app: AppIdentifier)
        case unlock
        /// To set, change or remove it.
        case change
        /// An app's own password, for items of this context (EV-60).
        case credential(context: String)
        /// To turn erasing after ten wrong passcodes on or off.
        case eraseData(Bool)
        /// To take a backup of the keychain, or to bring one back.
        case backup(BackupDirection)
        /// To forget the fingerprint reader.
        case forgetReader
        /// To use the fingerprint readers of the fprintd at this bus, with these templates, from now on.
        case addReader(bus: String, templates: String)
        /// To accept the keychain's guarded items as the look of this name found them.
        case acceptItems(look: String)
        /// To found a circle of devices, of which this one is called so (DEC-461).
        case foundCircle(name: String)
        /// To let a device into the circle: 64 hexadecimal digits of the whole change.
        case approveDevice(digest: String)
        /// To join a circle: 64 hexadecimal digits of the same.
        case joinCircle(digest: String)
        /// To remove a member from the circle: 64 hexadecimal digits, and the name that it has there.
        case removeDevice(member: String, name: String)
        /// To add a recovery key of this name; its secret follows the passcode.
        case addRecoveryKey(name: String)
        /// To come back into the circle whose chain ends with this hash (64 hexadecimal digits), under this name; the recovery key's secret
        /// follows the passcode.
        case recoverCircle(head: String, name: String)
        /// To see which versions of items other devices replaced.
        case showHistory
        /// To have the replaced version of this number back.
        case restoreVersion(number: Int64)
    }

    /// What is authenticated with the ciphertext.
    package static func context(_ purpose: Purpose, nonce: Data) -> Data {
        let words =
            switch purpose {
            case .prompt(let app): "prompt \(app.rawValue)"
            case .unlock: "unlock"
            case .change: "change"
            case .credential(let context): "credential \(context)"
            case .eraseData(let isOn): "erase data \(isOn ? "on" : "off")"
            case .backup(let direction): direction.rawValue
            case .forgetReader: "forget reader"
            // No path has a zero byte.
            case .addReader(let bus, let templates): "add reader \(bus)\0\(templates)"
            case .acceptItems(let look): "accept items \(look)"
            case .foundCircle(let name): "found circle \(name)"
            case .approveDevice(let digest): "approve device \(digest)"
            case .joinCircle(let digest): "join circle \(digest)"
            case .removeDevice(let member, let name): "remove device \(member) \(name)"
            case .addRecoveryKey(let name): "add recovery key \(name)"
            case .recoverCircle(let head, let name): "recover circle \(head) \(name)"
            case .showHistory: "show history"
            case .restoreVersion(let number): "restore version \(number)"
            }
        return nonce + Data(words.utf8)
    }

    /// What is sealed: for each passcode its length (2 bytes, little-endian) and 256 bytes that begin with it, the rest
    /// zero, so that the size tells nothing.
    ///
    /// A prompt and the lock screen take one; a change takes two in one message, so that neither can be exchanged: the
    /// current one, then the new one, of length 0 for none. A backup takes the passcode, then the backup's key. A
    /// recovery key's secret follows the passcode, too.
    package static func payload<Passcode: Collection<UInt8>>(_ passcodes: [Passcode]) -> Data {
        var payload = Data(capacity: passcodes.count * entryLength)
        for passcode in passcodes {
            // One that is too long is cut, and told as long as it is: the enclave refuses it by name.
            let count = min(passcode.count, Int(UInt16.max))
            let kept = passcode.prefix(maximumPasscodeLength)
            payload.append(UInt8(truncatingIfNeeded: count))
            payload.append(UInt8(truncatingIfNeeded: count >> 8))
            payload.append(contentsOf: kept)
            payload.append(Data(count: maximumPasscodeLength - kept.count))
        }
        return payload
    }

    /// Bytes of one passcode in the payload.
    package static let entryLength = 2 + maximumPasscodeLength
    /// Longest passcode, in bytes of UTF-8.
    package static let maximumPasscodeLength = 256
}
