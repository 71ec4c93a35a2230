import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `GET /v1/devices`, for a password session or a session.
    func devices(_ call: Call) async throws -> Response {
        let userHandle =
            if call.credentials("Bearer") != nil { try await passwordSession(call).userHandle } else {
                try await authenticate(call.request).userHandle
            }
        return try .json(Body.Devices(devices: try await store.keys(userHandle: userHandle).map(Body.Device.init)))
    }

    /// `POST /v1/keys/rotate`: the old key signs for the new one, and the new one that it is there.
    func rotateKey(_ call: Call) async throws -> Response {
        let signed = try await verify(call, for: .rotate)
        let (key, submitted) = (signed.key, signed.submitted)
        let details = try submitted.details(Details.Rotate.self, ["publicKey"])
        guard let new = DeviceKey(pem: details.publicKey) else { throw Failure.refused(.keyForm, key: key.id) }
        guard let newSignature = submitted.newSignature.flatMap(StrictSignature.init),
            new.verifies(newSignature, of: submitted.bytes)
        else { throw Failure.refused(.newSignature, key: key.id) }
        let now = configuration.now
        let rotated: Bool
        do {
            rotated = try await store.rotate(
                from: key.id,
                to: StoredKey(
                    id: new.id, publicKey: new.der, userHandle: key.userHandle, deviceID: key.deviceID,
                    deviceName: key.deviceName, counter: 0, registeredAt: now, lastUsedAt: nil, state: .active),
                at: now)
        } catch StoreError.exists {
            throw Failure(answer: .conflict, reason: .keyExists, keyID: new.id)
        }
        guard rotated else { throw Failure.refused(.keyRevoked, key: key.id) }
        call.tell("key rotated", key: key.id)
        await notify(.rotated(device: key.deviceName), userHandle: key.userHandle)
        return try .json(Body.KeyID(keyID: new.id.base64URL))
    }

    /// `POST /v1/keys/revoke`: any key of the same account, its own among them (NP-30).
    func revokeKey(_ call: Call) async throws -> Response {
        let signed = try await verify(call, for: .revoke)
        let key = signed.key
        let details = try signed.submitted.details(Details.Revoke.self, ["keyID"])
        guard let id = Data(base64URL: details.keyID), let other = try await store.key(id: id),
            other.userHandle == key.userHandle
        else { throw Failure.refused(.keyUnknown, key: key.id) }
        if try await store.revoke(keyID: id, reason: .owner, at: configuration.now) {
            call.tell("key revoked", key: id)
            await notify(.revoked(device: other.deviceName, .owner), userHandle: key.userHandle)
        }
        return .noContent
    }
}
