import Crypto
import Foundation
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// Uses a device once for all that it is for, and leaves nothing behind.
struct SelfTest {
    private let paths: DevicePaths
    private let device: DeviceClient
    private let passcode: PasscodeBuffer
    private let tell: (_ isGood: Bool, _ step: String) -> Void

    /// `tell` is told of each step when it is done.
    init(_ paths: DevicePaths, passcode: PasscodeBuffer, tell: @escaping (_ isGood: Bool, _ step: String) -> Void)
        throws
    {
        self.paths = paths
        self.passcode = passcode
        self.tell = tell
        device = try DeviceClient(paths)
    }

    /// - Throws: `Failure`, after the step that failed was told and the item was removed.
    func run() throws {
        if try device.status.isLocked { try unlock() }
        // One that was interrupted left it.
        try? remove()
        defer { try? remove() }
        let secret = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        try step("stores an item that opens only while the device is unlocked") {
            let value: KeychainInterface.Dictionary = [
                .valueData: .data(secret), .accessible: .string(Accessibility.whenUnlockedThisDeviceOnly.rawValue),
            ]
            _ = try device.call(
                KeychainInterface.Add.self, .init(attributes: Self.item.merging(value) { $1 }, context: nil))
        }
        try step("locks, and the item does not open") {
            _ = try device.call(DeviceInterface.Lock.self, .init())
            guard (try? read()) == nil else { throw Failure(.no, "it opened, although the device was locked") }
        }
        try step("unlocks with the passcode") { try unlock() }
        try step("reads the item, and it is what was stored") {
            guard try read() == secret else { throw Failure(.no, "it is something else") }
        }
        try step("makes a key in the enclave, and signs with it") {
            let control = try AccessControl(protection: .whenUnlockedThisDeviceOnly, flags: .privateKeyUsage)
            let made = try device.call(
                KeyInterface.Create.self, .init(kind: .p256, accessControl: control, accessGroup: nil, context: nil))
            let digest = SHA256.hash(data: secret)
            let signed = try device.call(
                KeyInterface.Sign.self, .init(key: made.key, data: Data(digest), context: nil))
            let key = try P256.Signing.PublicKey(x963Representation: made.publicKey)
            guard try key.isValidSignature(.init(rawRepresentation: signed.signature), for: digest) else {
                throw Failure(.no, "the signature does not belong to the key")
            }
        }
        try step("removes the item again") {
            try remove()
            guard (try? read()) == nil else { throw Failure(.no, "it is still there") }
        }
    }

    func unlock() throws {
        _ = try device.enter(DeviceInterface.Unlock.self, typed: passcode, for: .unlock) { .init(passcode: $0) }
    }

    private func step(_ words: String, _ body: () throws -> Void) throws {
        do {
            try body()
            tell(true, words)
        } catch {
            tell(false, words)
            throw Failure.of(error, paths)
        }
    }

    private static let item: KeychainInterface.Dictionary = [
        .class: .string(ItemClass.genericPassword.rawValue), .service: .string("io.touchstone.setup"),
        .account: .string("self-test"),
    ]

    private func read() throws -> Data? {
        let query = Self.item.merging([.returnData: .boolean(true)]) { $1 }
        return try device.call(KeychainInterface.CopyMatching.self, .init(query: query, context: nil)).items.first?.data
    }

    private func remove() throws {
        _ = try device.call(KeychainInterface.Delete.self, .init(query: Self.item, context: nil))
    }
}
