import Crypto
import Foundation
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneMemory
import TouchstoneSystem
import TouchstoneTransport

/// A backup that the owner agreed to, on a connection of its own.
///
/// The key is made here, goes sealed to the enclave with the passcode, and into the file under the passphrase: touchstoned, which carries
/// the items, never has it.
struct BackupSession {
    let device: DeviceClient
    let identifier: String

    /// Asks for the passcode, and the enclave for the session.
    init(_ direction: BackupDirection, key: SecretBytes, device: DeviceClient) throws {
        self.device = device
        try device.checkPasscodeKey()
        let passcode = try PasscodeEntry.current()
        let entry = PasscodeBuffer()
        unsafe key.withUnsafeBytes { bytes in for index in 0..<bytes.count { unsafe entry.append(bytes[index]) } }
        _ = try device.enter(
            DeviceInterface.AuthorizeBackup.self, typed: passcode, entry, for: .backup(direction)
        ) { .init(direction: direction, passcode: $0) }
        let symmetric = unsafe key.withUnsafeBytes { unsafe SymmetricKey(data: $0) }
        identifier = HMAC<SHA256>.authenticationCode(for: Data(BackupInterface.sessionLabel.utf8), using: symmetric)
            .map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    func end() { _ = try? device.call(BackupInterface.End.self, .init(session: identifier)) }

    /// A connection to a device that is unlocked and has a passcode: what can be said before anybody types anything.
    static func connect(_ paths: DevicePaths) throws -> DeviceClient {
        let device = try DeviceClient(paths)
        let status = try device.status
        guard status.isPasscodeSet else {
            throw Failure(
                .refused,
                "\(paths.name) has no passcode, which a backup needs: set one with 'touchstone device passcode set\(paths.option)'"
            )
        }
        guard !status.isLocked else {
            throw Failure(.refused, "\(paths.name) is locked; unlock it with 'touchstone device unlock\(paths.option)'")
        }
        return device
    }
}

/// What is encrypted in a backup's file: a line that names it, the backup's key, then the records of `io.touchstone.Backup`.
enum BackupPayload {
    static let version = 1
    private static let magic = "touchstone-backup "

    static func head(_ key: SecretBytes) -> Data {
        var head = Data("\(magic)\(version)\n".utf8)
        unsafe key.withUnsafeBytes { unsafe head.append(contentsOf: $0) }
        return head
    }

    /// Takes the head off the first part of the payload.
    static func key(_ payload: inout Data, file: String) throws -> SecretBytes {
        guard let end = payload.firstIndex(of: UInt8(ascii: "\n")), payload.starts(with: Data(magic.utf8)),
            let found = Int(String(decoding: payload[..<end].dropFirst(magic.utf8.count), as: UTF8.self))
        else { throw Failure(.configuration, "\(file) is encrypted, but is not a backup of a keychain") }
        guard found <= version else {
            throw Failure(.configuration, "\(file) was written by a newer version of Touchstone; nothing changed")
        }
        let rest = payload[payload.index(after: end)...]
        guard rest.count >= BackupInterface.keyBytes else {
            throw Failure(.configuration, "\(file) does not have the form of a backup; nothing changed")
        }
        defer { payload = Data(rest.dropFirst(BackupInterface.keyBytes)) }
        return SecretBytes(rest.prefix(BackupInterface.keyBytes))
    }
}
