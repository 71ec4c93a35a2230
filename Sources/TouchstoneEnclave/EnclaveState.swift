import Crypto
import Foundation
import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// What outlives a reboot.
///
/// Kept in one file, replaced whole, authenticated under the device key.
struct EnclaveState: Codable, Equatable {
    /// From 2 on there are earlier class keys, which a program that knows of none would lose.
    static let currentVersion = 2

    struct Passcode: Codable, Equatable {
        var salt: Data
        var cost: PasscodeCost
        /// Class keys sealed under the passcode key, by the code of the class.
        var classKeys: [String: Data]
        /// Absent in files that were written before there were kinds.
        var kind: PasscodeKind?
        /// Whether ``PasscodePolicy/maximumFailures`` wrong passcodes erase the device; absent: no.
        var erasesData: Bool?
        /// Absent where the root of trust has no passcode guard.
        var gate: PasscodeGate?
    }

    /// What is left to do of an erasure (PC-02).
    enum Erasure: String, Codable {
        /// The keychain has not said yet that its items are gone.
        case pending
        /// Nothing, but nobody has set a passcode since.
        case done
    }

    struct Template: Codable, Equatable {
        var name: String
        /// HMAC of the sample under a key of this device.
        var digest: Data
    }

    /// Names the set of enrolled fingers: `hash` changes with every change and never comes back (DS-03, DS-04).
    struct EnrolmentDatabase: Codable, Equatable {
        var identifier: UUID
        var changes: UInt64
        var hash: Data
    }

    /// Whether an app may use Face ID, as the owner answered (CE-09).
    struct FaceIDPermission: Codable, Equatable {
        /// Application identifier.
        var app: AppIdentifier
        var isAllowed: Bool
    }

    /// This device's place in a circle of devices that synchronize (SY-10, SY-11).
    struct Circle: Codable, Equatable {
        /// Of the class key that `keys` is sealed under.
        var generation: UInt32
        /// Its private keys for signatures and for HPKE, 32 bytes each, under the key of the class that opens after the first unlock.
        var keys: Data
        /// Its identifier, 32 bytes: the hash of the public halves.
        var member: Data
        /// The whole chain, of which every link was checked.
        var links: [Data]
        /// The next link, made here, which counts once it came back from the store; absent: none.
        var proposed: Data?
    }

    var version = 1
    var isSimulated: Bool
    var biometryType: BiometryType
    /// The sensor that the enclave speaks to; absent: fingers are simulated.
    var sensor: SensorSource?
    /// Class keys sealed under the device key, by the code of the class: D always, A and C while there is no passcode.
    var classKeys: [String: Data]
    /// How often the class keys were made anew; absent: never.
    var generation: UInt32?
    /// Earlier class keys, by the code of the class: 32 bytes each, the newest first, sealed under the class's current key.
    var earlierClassKeys: [String: Data]?
    var passcode: Passcode?
    var passcodeFailures = 0
    var biometryFailures = 0
    var templates: [Template] = []
    /// Whether the digests of `templates` are of a sensor's own templates, and not of their names; absent: no.
    var areTemplatesRead: Bool?
    /// The reader that `templates` are of; absent without templates, and in an older file.
    var reader: SensorReader?
    var database: EnrolmentDatabase
    /// Oldest answer first; nil in a file that was written before there were any.
    var faceIDPermissions: [FaceIDPermission]?
    /// Which items with an access control there are; absent until the keychain has shown them for the first time.
    var items: RecordedItems?
    /// Absent unless wrong passcodes erased the device.
    var erasure: Erasure?
    /// One more with each write: an older file that was put back is told by it (PC-34).
    ///
    /// Absent: 0.
    var revision: UInt64?
    /// The public half of the recovery key: 32 bytes, X25519; absent where nothing is to be recovered.
    var recoveryKey: Data?

    /// What a device begins with: new class keys, nobody enrolled, no passcode.
    static func fresh(
        isSimulated: Bool, biometryType: BiometryType, sensor: SensorSource?, deviceKey: SecretBytes,
        _ random: any RandomSource
    ) throws -> EnclaveState {
        let keys = ClassKeys.generate(Accessibility.withDevice + Accessibility.untilLocked, random)
        return EnclaveState(
            isSimulated: isSimulated, biometryType: biometryType, sensor: sensor,
            classKeys: try keys.sealed(under: deviceKey.derive("class keys"), random),
            database: .init(identifier: random.uuid(), changes: 0, hash: random.bytes(count: 32)))
    }
    /// Whether P-256 keys are made in the root of trust's hardware; absent: no.
    var areKeysHeld: Bool?
    /// The circle of devices that this one is in; absent: none.
    var circle: Circle?
    /// How many numbers were said to devices that join, since the passcode was given last; absent: none.
    var joinNumbers: Int?
    /// Where the log ended when this was written; absent in a file that is older than the log.
    var log: KeptLog?
}

/// The enclave's file cannot be used.
package enum EnclaveStateError: Error, Hashable {
    case missing
    /// Not ours, from another device, or changed: its authentication code does not fit.
    case corrupt
    /// Written by a newer version.
    case newer(Int)
    /// Older than one that this machine has seen, as far as its counter remembers: put back from a copy (PC-34).
    case rolledBack
}

/// The file: a line that names it, a line with the HMAC-SHA256 of the rest in hex, then JSON.
enum EnclaveStateFile {
    private static let magic = "touchstone-enclave-state"

    static func encode(_ state: EnclaveState, key: SecretBytes) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let body = try encoder.encode(state)
        let code = HMAC<SHA256>.authenticationCode(for: body, using: key.symmetricKey)
        var file = Data("\(magic) \(state.version)\n\(code.map { String(format: "%02x", $0) }.joined())\n".utf8)
        file.append(body)
        return file
    }

    static func decode(_ file: Data, key: SecretBytes) throws(EnclaveStateError) -> EnclaveState {
        let lines = file.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3 else { throw .corrupt }
        let head = String(decoding: lines[0], as: UTF8.self).split(separator: " ")
        guard head.count == 2, head[0] == magic, let version = Int(head[1]) else { throw .corrupt }
        guard version <= EnclaveState.currentVersion else { throw .newer(version) }
        guard let code = Data(hex: lines[1]),
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: lines[2], using: key.symmetricKey),
            let state = try? JSONDecoder().decode(EnclaveState.self, from: Data(lines[2])), state.version == version
        else { throw .corrupt }
        return state
    }
}

extension Data {
    fileprivate init?(hex: some Collection<UInt8>) {
        let text = Array(hex)
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let byte = UInt8(String(decoding: text[index..<(index + 2)], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        self.init(bytes)
    }
}
