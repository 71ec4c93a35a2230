import Crypto
import Foundation
import TouchstoneSignInProtocol

/// A device with a software key, which the server cannot tell from a real one (NP-21).
///
/// Of one thread.
final class SoftwareDevice {
    let key = P256.Signing.PrivateKey()
    let id: Data
    let userHandle: Data
    private let target: Target
    private let deviceID: Data
    private var counter: UInt64 = 0

    init(userHandle: Data, deviceID: Data = random(16), target: Target) {
        self.deviceID = deviceID
        id = Data(SHA256.hash(data: key.publicKey.derRepresentation))
        self.userHandle = userHandle
        self.target = target
    }

    static func random(_ count: Int) -> Data {
        unsafe SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes { unsafe Data($0) }
    }

    /// - Returns: The status; 201 if it was registered.
    func register(_ connection: HTTPConnection, session: String) throws -> Int {
        let answer = try connection.request("POST", "/v1/registrations/challenge", Data("{}".utf8), bearer: session)
        guard answer.status == 200 else { return answer.status }
        let challenge = try JSONDecoder().decode(Body.Challenge.self, from: answer.body).challenge
        let details = Details.Register(
            publicKey: key.publicKey.pemRepresentation, deviceID: deviceID.base64URL, deviceName: "Load")
        let body = try signed(.register, JSONEncoder().encode(details), challenge)
        return try connection.request("POST", "/v1/registrations", body, bearer: session).status
    }

    /// - Returns: The challenge, or the status of a refusal.
    func challenge(_ connection: HTTPConnection) throws -> (challenge: String?, status: Int) {
        let body = try JSONEncoder().encode(Body.ChallengeRequest(keyID: id.base64URL, purpose: .signIn))
        let answer = try connection.request("POST", "/v1/challenges", body)
        guard answer.status == 200 else { return (nil, answer.status) }
        return (try JSONDecoder().decode(Body.Challenge.self, from: answer.body).challenge, 200)
    }

    /// - Returns: The status; 200 if the server signed this device in.
    func answer(_ challenge: String, _ connection: HTTPConnection) throws -> Int {
        let details = Details.SignIn(sessionKey: Self.random(32).base64URL)
        let body = try signed(.signIn, JSONEncoder().encode(details), challenge)
        return try connection.request("POST", "/v1/sessions", body).status
    }

    private func signed(_ purpose: Purpose, _ details: Data, _ challenge: String) throws -> Data {
        counter += 1
        let message = SignedMessage(
            purpose: purpose, audience: target.audience, application: target.application, keyID: id,
            userHandle: userHandle,
            challenge: Data(base64URL: challenge) ?? Data(), clientNonce: Self.random(32), counter: counter,
            issuedAt: UInt64(Date().timeIntervalSince1970), detailsHash: Data(SHA256.hash(data: details))
        ).bytes
        let signature = try key.signature(for: message).derRepresentation
        return try JSONEncoder().encode(SignedRequest(message: message, signature: signature, details: details))
    }
}

/// An account that registers devices: its password session, good for five minutes.
struct LoadAccount {
    let session: String
    let userHandle: Data

    init(_ name: String, password: String, _ connection: HTTPConnection) throws {
        let body = try JSONEncoder().encode(Body.Password(name: name, password: password))
        let answer = try connection.request("POST", "/v1/password-sessions", body)
        guard answer.status == 200 else { throw LoadError("the password session of \(name): \(answer.status)") }
        let decoded = try JSONDecoder().decode(Body.PasswordSession.self, from: answer.body)
        session = decoded.token
        userHandle = Data(base64URL: decoded.userHandle) ?? Data()
    }
}

struct LoadError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
