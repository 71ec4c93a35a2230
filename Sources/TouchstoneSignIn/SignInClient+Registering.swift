import Crypto
import Foundation
public import TouchstoneSignInProtocol

@available(macOS 14, iOS 17, *)
extension SignInClient {
    /// Makes a key and registers it, in place of this device's earlier one (NP-20, NP-22).
    ///
    /// Asks the owner. The only call that a password goes with. Calls at the same time for the same names join one registration (NP-31). Where it fails, the
    /// earlier key is what it was; if the answer was lost, it may have been replaced at the server.
    ///
    /// - Parameters:
    ///   - name: The account's.
    ///   - password: The account's.
    ///   - deviceName: What the device is called in the account's list: one line of at most 64 characters.
    ///   - secondFactor: What else the server asks for, a one-time code for example.
    /// - Returns: The account's devices, for the owner to look through.
    /// - Throws: ``SignInError``.
    public func register(
        name: String, password: String, deviceName: String, secondFactor: String? = nil
    ) async throws(SignInError) -> [Body.Device] {
        if let registering {
            guard registering.name == name, registering.deviceName == deviceName else { throw .busy }
            return try await Self.joined(registering.task)
        }
        try PromptText.check(deviceName)
        guard deviceName.count <= Self.maximumDeviceNameLength else {
            throw .configuration("a device's name has at most \(Self.maximumDeviceNameLength) characters")
        }
        let task = try inOrder {
            try await self.keychain.checkBiometry()
            return try await self.registerNow(
                Body.Password(name: name, password: password, secondFactor: secondFactor), deviceName: deviceName)
        }
        registering = Registering(name: name, deviceName: deviceName, task: task)
        defer { registering = nil }
        return try await Self.value(of: task)
    }

    /// The registration's result, for another caller than the one that began it.
    ///
    /// A cancelled caller ends only its own wait, at once.
    private static func joined(_ task: Task<[Body.Device], any Error>) async throws(SignInError) -> [Body.Device] {
        let (results, result) = AsyncStream.makeStream(of: Result<[Body.Device], any Error>.self)
        Task {
            result.yield(await task.result)
            result.finish()
        }
        for await devices in results {
            do {
                return try devices.get()
            } catch {
                throw failure(error)
            }
        }
        throw .cancelled
    }

    private static let maximumDeviceNameLength = 64

    private func registerNow(_ password: Body.Password, deviceName: String) async throws -> [Body.Device] {
        let session = try await transport.call(
            "/v1/password-sessions", password, returning: Body.PasswordSession.self)
        let deviceID = try await keychain.deviceID(audience)
        let key = try await made(audience)
        let registered: Body.Registered
        do {
            registered = try await register(key, session, deviceID, deviceName)
            let record = RegisteredServer(
                server: server.url, audience: audience, application: application, account: password.name,
                deviceName: deviceName, keyID: key.id, userHandle: try Self.bytes(session.userHandle, 16),
                keyTag: key.tag)
            try await keychain.store(record)
        } catch {
            // The record still names the earlier key, if there is one.
            try? await keychain.deleteKey(tag: key.tag)
            throw Self.failure(error)
        }
        // What cannot be deleted now goes with the next registration.
        try? await keychain.deleteKeys(audience, except: key.tag)
        return registered.devices
    }

    private func register(
        _ key: NewKey, _ session: Body.PasswordSession, _ deviceID: Data, _ deviceName: String
    ) async throws -> Body.Registered {
        try await keychain.startCounter(tag: key.tag, at: 0)
        let asked = ContinuousClock.now
        let answer = try await transport.call(
            "/v1/registrations/challenge", Empty(), .bearer(session.token), returning: Body.Challenge.self)
        clock.heard(answer.serverTime)
        let details = Details.Register(
            publicKey: key.publicKey.pemRepresentation, deviceID: deviceID.base64URL, deviceName: deviceName)
        let signer = Signer(keyID: key.id, userHandle: try Self.bytes(session.userHandle, 16), tag: key.tag)
        let request = try await signed(
            .register, details, answer.challenge, until: asked + .seconds(answer.expiresIn), by: signer,
            Prompt(reason: PromptText.register(audience)))
        let registered = try await transport.call(
            "/v1/registrations", request, .bearer(session.token), returning: Body.Registered.self)
        guard registered.keyID == key.id.base64URL else { throw SignInError.badAnswer("it registered another key") }
        return registered
    }
}
