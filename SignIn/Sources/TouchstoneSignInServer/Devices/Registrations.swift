import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/registrations/challenge`, bound to the password session that asks.
    func registrationChallenge(_ call: Call) async throws -> Response {
        let (_, session) = try await passwordSession(call)
        return try .json(try await addChallenge(for: .register, keyID: nil, binding: session))
    }

    /// `POST /v1/registrations`: the new key signs that it is there (NP-20).
    func register(_ call: Call) async throws -> Response {
        let (userHandle, session) = try await passwordSession(call)
        let (submitted, message, taken, _) = try await open(call, for: .register)
        let id = message.keyID
        let details = try submitted.details(
            Details.Register.self, ["publicKey", "deviceID", "deviceName"], optional: ["attestation"])
        guard let key = DeviceKey(pem: details.publicKey), key.id == id else {
            throw Failure.refused(.keyForm, key: id)
        }
        guard message.userHandle == userHandle else { throw Failure.refused(.userHandle, key: id) }
        let challenge = try check(taken, of: message)
        guard challenge.binding == session else { throw Failure.refused(.challengeForAnother, key: id) }
        try check(submitted, message, by: key)
        guard message.counter >= 1 else { throw Failure.refused(.counter, key: id) }
        guard let deviceID = Data(base64URL: details.deviceID), deviceID.count == 16,
            DisplayText.isValid(details.deviceName, maximum: 64)
        else { throw Failure.refused(.detailsForm, key: id) }
        let attestation = try await attest(details, key, message)
        let new = StoredKey(
            id: id, publicKey: key.der, userHandle: userHandle, deviceID: deviceID, deviceName: details.deviceName,
            counter: message.counter, registeredAt: configuration.now, lastUsedAt: nil, state: .active,
            attestation: attestation)
        // Before it is done: nothing that may fail comes after that.
        var devices = try await store.keys(userHandle: userHandle)
        let replaced = devices.firstIndex { $0.deviceID == deviceID && $0.state == .active }
        if let replaced { devices[replaced].state = .revoked(.replaced, new.registeredAt) }
        devices.append(new)
        do {
            try await store.register(new, passwordSession: session)
        } catch StoreError.notActive {
            throw Failure.refused(.passwordSession, key: id)
        } catch StoreError.exists {
            throw Failure(answer: .conflict, reason: .keyExists, keyID: id)
        } catch StoreError.full {
            throw Failure(answer: .conflict, reason: .keysFull, keyID: id)
        }
        call.tell("device registered, attestation: \(attestation ?? "none")", key: id)
        let active = devices.filter { $0.state == .active }.map(\.deviceName)
        await notify(
            .registered(device: details.deviceName, replaced: replaced != nil, devices: active), userHandle: userHandle)
        return try .json(
            Body.Registered(keyID: id.base64URL, devices: devices.map(Body.Device.init)), status: .created)
    }

    /// What an attestation proves; nil without one, or without anybody who could judge it: less assurance (NP-21).
    private func attest(_ details: Details.Register, _ key: DeviceKey, _ message: SignedMessage) async throws -> String?
    {
        guard let text = details.attestation else { return nil }
        guard let statement = Data(base64URL: text) else { throw Failure.refused(.detailsForm, key: key.id) }
        guard let attestation else { return nil }
        let proven = try await attestation.verify(statement, publicKey: key.der, challenge: message.challenge)
        guard let proven else { throw Failure.refused(.attestation, key: key.id) }
        return proven
    }
}

extension Body.Device {
    init(_ key: StoredKey) {
        self.init(
            keyID: key.id.base64URL, deviceName: key.deviceName,
            registeredAt: Int(key.registeredAt.timeIntervalSince1970),
            lastUsedAt: key.lastUsedAt.map { Int($0.timeIntervalSince1970) },
            state: key.state == .active ? .active : .revoked, attestation: key.attestation)
    }
}

/// Text that a person reads somewhere else than where it was typed.
enum DisplayText {
    /// No controls, no line breaks, nothing that turns the direction of what stands beside it.
    static func isValid(_ text: String, maximum: Int) -> Bool {
        (1...maximum).contains(text.count) && text.utf8.count <= maximum * 8
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
                case .format: scalar == "\u{200D}" || scalar == "\u{200C}"
                default: true
                }
            }
    }
}
