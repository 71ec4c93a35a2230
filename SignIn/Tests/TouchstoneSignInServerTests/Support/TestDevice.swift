import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// An owner's device, whose key needs no finger; what it signs may be changed before it does.
final class TestDevice: Sendable {
    let key: P256.Signing.PrivateKey
    let deviceID: Data
    let userHandle: Data
    private let lastCounter = Mutex<UInt64>(0)

    init(_ userHandle: Data, deviceID: Data = Data((0..<16).map { _ in UInt8.random(in: 0...255) })) {
        key = P256.Signing.PrivateKey()
        self.userHandle = userHandle
        self.deviceID = deviceID
    }

    var pem: String { key.publicKey.pemRepresentation }
    var der: Data { key.publicKey.derRepresentation }
    var keyID: Data { der.hashed }

    func nextCounter() -> UInt64 {
        lastCounter.withLock { counter in
            counter += 1
            return counter
        }
    }

    func message(_ purpose: Purpose, _ challenge: Data, _ details: Data, counter: UInt64? = nil) -> SignedMessage {
        SignedMessage(
            purpose: purpose, audience: TestServer.audience, application: TestServer.application, keyID: keyID,
            userHandle: userHandle, challenge: challenge, clientNonce: SignInConfiguration.systemRandom(32),
            counter: counter ?? nextCounter(), issuedAt: 1_800_000_000, detailsHash: details.hashed)
    }

    func signature(_ bytes: Data) throws -> Data { try key.signature(for: bytes).derRepresentation }

    func sign(
        _ purpose: Purpose, _ challenge: Data, _ details: some Encodable, counter: UInt64? = nil,
        change: (inout SignedMessage) -> Void = { _ in }
    ) throws -> SignedRequest {
        let details = try JSONEncoder().encode(details)
        var message = message(purpose, challenge, details, counter: counter)
        change(&message)
        return SignedRequest(
            message: message.bytes, signature: try signature(message.bytes), details: details)
    }
}

extension TestServer {
    /// A device that is registered.
    func device(named name: String = "Laptop", deviceID: Data? = nil) async throws -> TestDevice {
        let device = deviceID.map { TestDevice(userHandle, deviceID: $0) } ?? TestDevice(userHandle)
        try await addPasswordSession(device.deviceID.hashed, of: userHandle)
        try await store.register(
            StoredKey(
                id: device.keyID, publicKey: device.der, userHandle: userHandle,
                deviceID: device.deviceID, deviceName: name, counter: 0, registeredAt: clock.now, lastUsedAt: nil,
                state: .active), passwordSession: device.deviceID.hashed)
        return device
    }

    /// As if its password had been given.
    func addPasswordSession(_ hash: Data, of userHandle: Data) async throws {
        let account = try #require(try await store.account(userHandle: userHandle))
        try await store.addPasswordSession(
            hash: hash, userHandle: userHandle, passwordHash: account.passwordHash, expiresAt: clock.now + 300)
    }

    /// A sign-in, with what the test changes about it.
    func signIn(
        _ device: TestDevice, _ session: TestSessionKey = TestSessionKey(), counter: UInt64? = nil,
        change: (inout SignedMessage) -> Void = { _ in }
    ) async throws -> Answer {
        let challenge = try await challenge(for: .signIn, keyID: device.keyID)
        return try await post(
            "/v1/sessions",
            device.sign(
                .signIn, challenge, Details.SignIn(sessionKey: session.thumbprint), counter: counter, change: change))
    }
}
