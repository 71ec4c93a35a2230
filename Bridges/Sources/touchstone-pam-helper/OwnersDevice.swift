import BridgeCore
import Foundation
import Glibc
import PAMChallenge
import TouchstoneDevice

/// The system's device of a user, over one connection (PM-3): never a device of one's own, and never at another place.
struct OwnersDevice {
    /// LAAccessControlOperation.useKeySign is implied by the method; these are bits of SecAccessControlCreateFlags.
    static let keyUse = 1 << 30
    static let userPresence = 1

    let device: Device
    let connection: DeviceConnection

    /// Why there is no device to ask.
    enum Absence: Error {
        /// Root made none for this user.
        case noDevice
        /// It does not answer, or its place is not root's.
        case notAnswering(String)
    }

    init(of userID: UInt32) throws(Absence) {
        guard unsafe access("/var/lib/touchstone/\(userID)", F_OK) == 0 else { throw .noDevice }
        for directory in ["/run", "/run/touchstone", "/run/touchstone/\(userID)"] {
            var status = stat()
            guard unsafe lstat(directory, &status) == 0 else { throw .notAnswering("the device does not run") }
            guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == 0, status.st_mode & (S_IWGRP | S_IWOTH) == 0
            else {
                throw .notAnswering("\(directory) is not root's alone")
            }
        }
        device = Device(systemDeviceOf: userID)
        do throws(DeviceError) { connection = try device.connect() } catch {
            throw .notAnswering("the device does not answer")
        }
    }

    // MARK: what it is

    private struct StatusReply: Decodable {
        struct Status: Decodable {
            var isSimulated, isEnrolled, isPasscodeSet, isLocked, hasAgent: Bool
            var passcodeFailures: Int
        }
        var status: Status
    }

    /// What it says of itself; of the machine nothing yet.
    func surroundings() throws(DeviceError) -> Surroundings {
        let status = try connection.call("Device.GetStatus", Nothing(), StatusReply.self).status
        var found = Surroundings()
        found.isSimulated = status.isSimulated
        found.isEnrolled = status.isEnrolled
        found.isPasscodeSet = status.isPasscodeSet
        found.isLocked = status.isLocked
        found.hasAgent = status.hasAgent
        found.passcodeFailures = status.passcodeFailures
        return found
    }

    private struct ClientRequest: Encodable { var client: ClientProcess? }
    private struct DescribeReply: Decodable {
        struct Origin: Decodable { var place: String }
        struct App: Decodable { var name: String }
        var app: App
        var origin: Origin?
    }

    /// Who the host is, in the words of the prompt.
    func description(of client: ClientProcess) throws(DeviceError) -> (name: String, isRemote: Bool) {
        let reply = try connection.call(
            "Authentication.DescribeClient", ClientRequest(client: client), DescribeReply.self)
        return (reply.app.name, reply.origin?.place == "remote")
    }

    // MARK: what it signs

    private struct ContextReply: Decodable { var context: String }
    private struct Options: Encodable {
        var reason: String
        var cancelTitle = "Use Password"
        var reuseDuration = 0.0
        var interactionNotAllowed = false
        var waitsForTurn = true
        var validFor = 1.0
        var facts: [Fact]
    }
    private struct SignRequest: Encodable {
        var key: Data
        var data: Data
        var context: String?
        var options: Options?
        var keyLabel = "sign-in with PAM"
    }
    private struct SignReply: Decodable { var signature: Data }

    /// Has the owner asked for this client, and the enclave sign (PM-1, PM-5).
    func sign(_ digest: Data, _ key: EnrolledKeys.Key, for client: ClientProcess, reason: String, facts: [Fact])
        throws(DeviceError) -> Data
    {
        let context = try connection.call(
            "Authentication.CreateContext", ClientRequest(client: client), ContextReply.self
        ).context
        let request = SignRequest(
            key: key.blob, data: digest, context: context, options: Options(reason: reason, facts: facts))
        return try connection.call("Key.Sign", request, SignReply.self).signature
    }

    /// Has the enclave sign with a key that asks nobody.
    func sign(_ digest: Data, _ key: EnrolledKeys.Key) throws(DeviceError) -> Data {
        try connection.call("Key.Sign", SignRequest(key: key.blob, data: digest), SignReply.self).signature
    }

    /// Waits until the owner has unlocked the device (PM-22).
    func waitForUnlock(_ client: ClientProcess) throws(DeviceError) {
        _ = try connection.call("Authentication.RequestUnlock", ClientRequest(client: client), Nothing.self)
    }

    // MARK: keys, and the passcode

    /// All programs of Touchstone's that PAM starts this one in, by their manifests: what it is known by depends on the host's unit.
    private static let group = "touchstone.pam"
    private struct Control: Encodable { var protection = "aku"; var flags: Int }
    private struct CreateRequest: Encodable {
        var kind = "p256"
        var accessControl: Control
        var accessGroup = OwnersDevice.group
    }
    private struct Created: Decodable { var key: Data; var publicKey: Data }

    /// Makes a key in the enclave.
    func makeKey(flags: Int) throws(DeviceError) -> EnrolledKeys.Key {
        let made = try connection.call(
            "Key.Create", CreateRequest(accessControl: Control(flags: flags)), Created.self)
        return EnrolledKeys.Key(publicKey: made.publicKey, blob: made.key)
    }

    private struct NonceReply: Decodable { var nonce: Data }

    /// Seals what was typed for the enclave, for one ``unlock(_:)``.
    func sealed(_ passcode: PasscodeBuffer) throws(DeviceError) -> Data {
        let nonce = try connection.call("Device.GetNonce", Nothing(), NonceReply.self).nonce
        return try device.seal([passcode], for: .unlock, nonce: nonce)
    }

    /// Tries what was typed as the passcode, once (PM-24).
    func unlock(_ sealed: Data) throws(DeviceError) {
        let request = Data("{\"passcode\":".utf8) + sealed + Data("}".utf8)
        _ = try connection.call("io.touchstone.Device.Unlock", request)
    }
}
