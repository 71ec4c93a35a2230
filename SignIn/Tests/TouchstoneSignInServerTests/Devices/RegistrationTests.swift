import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct RegistrationTests {
    static func register(
        _ server: TestServer, _ device: TestDevice, session: [String: String],
        challengeOf other: [String: String]? = nil,
        details change: (inout Details.Register) -> Void = { _ in },
        change message: (inout SignedMessage) -> Void = { _ in }
    ) async throws -> Answer {
        let challenge = try await server.post("/v1/registrations/challenge", headers: other ?? session)
            .decode(Body.Challenge.self)
        #expect(challenge.expiresIn == 300)
        var details = Details.Register(
            publicKey: device.pem, deviceID: device.deviceID.base64URL,
            deviceName: "Laptop")
        change(&details)
        return try await server.post(
            "/v1/registrations",
            device.sign(.register, Data(base64URL: challenge.challenge)!, details, change: message), headers: session)
    }

    @Test func np20_keyThatSignsForItselfIsRegistered() async throws {
        try await TestServer.with { server async throws in
            let device = TestDevice(server.userHandle)
            let answer = try await Self.register(server, device, session: server.passwordSession())
            #expect(answer.status == 201)
            let registered = try answer.decode(Body.Registered.self)
            #expect(registered.keyID == device.keyID.base64URL)
            #expect(registered.devices.map(\.deviceName) == ["Laptop"])
            #expect(server.notices.all == [.registered(device: "Laptop", replaced: false, devices: ["Laptop"])])
            #expect(try await server.signIn(device).status == 200)
        }
    }

    @Test func np20_keyWithoutProofOfPossessionIsRefused() async throws {
        try await TestServer.with { server async throws in
            let device = TestDevice(server.userHandle)
            let other = TestDevice(server.userHandle)
            let session = try await server.passwordSession()
            // Another key's public half, signed by this one: under its own id, and under the other's.
            #expect(
                try await Self.register(
                    server, device, session: session, details: { $0.publicKey = other.pem }
                ).isRefusal)
            #expect(server.log.reason == .keyForm)
            #expect(
                try await Self.register(
                    server, device, session: session, details: { $0.publicKey = other.pem },
                    change: { $0.keyID = other.keyID }
                ).isRefusal)
            #expect(server.log.reason == .signature)
            #expect(try await server.store.keys(userHandle: server.userHandle).isEmpty)
        }
    }

    @Test func np20_nothingIsRegisteredWithoutAPasswordSession() async throws {
        try await TestServer.with { server async throws in
            let session = try await server.passwordSession()
            #expect(try await server.post("/v1/registrations/challenge").isRefusal)
            let unknown = ["Authorization": "Bearer \(Data(count: 32).base64URL)"]
            #expect(try await server.post("/v1/registrations/challenge", headers: unknown).isRefusal)
            // A challenge of one session in another one.
            let device = TestDevice(server.userHandle)
            let other = try await server.passwordSession()
            #expect(try await Self.register(server, device, session: session, challengeOf: other).isRefusal)
            #expect(server.log.reason == .challengeForAnother)
        }
    }

    @Test(arguments: [(299.0, 201), (300.0, 401)])
    func np11_registrationChallengeIsGoodForFiveMinutes(_ seconds: TimeInterval, _ status: Int) async throws {
        try await TestServer.with(change: { $0.lifetimes.passwordSession = 1000 }) { server async throws in
            let device = TestDevice(server.userHandle)
            let session = try await server.passwordSession()
            let challenge = try await server.post("/v1/registrations/challenge", headers: session)
                .decode(Body.Challenge.self)
            server.clock.advance(by: seconds)
            let details = Details.Register(
                publicKey: device.pem, deviceID: device.deviceID.base64URL, deviceName: "x")
            let request = try device.sign(.register, Data(base64URL: challenge.challenge)!, details)
            let answer = try await server.post("/v1/registrations", request, headers: session)
            #expect(answer.status == status)
            #expect(status == 201 || server.log.reason == .challengeExpired)
        }
    }

    @Test func np22_newKeyOfADeviceReplacesItsOldOneAndTheOwnerHearsOfIt() async throws {
        try await TestServer.with { server async throws in
            let session = try await server.passwordSession()
            let old = TestDevice(server.userHandle)
            _ = try await Self.register(server, old, session: session)
            let new = TestDevice(server.userHandle, deviceID: old.deviceID)
            let answer = try await Self.register(server, new, session: session, details: { $0.deviceName = "Again" })
            #expect(answer.status == 201)
            let devices = try answer.decode(Body.Registered.self).devices
            #expect(Set(devices.filter { $0.state == .active }.map(\.keyID)) == [new.keyID.base64URL])
            #expect(server.notices.all.last == .registered(device: "Again", replaced: true, devices: ["Again"]))
            #expect(try await server.signIn(new).status == 200)
        }
    }

    @Test func np30_revokedKeyIsNotRegisteredAgain() async throws {
        try await TestServer.with { server async throws in
            let session = try await server.passwordSession()
            let device = TestDevice(server.userHandle)
            #expect(try await Self.register(server, device, session: session).status == 201)
            _ = try await server.store.revoke(keyID: device.keyID, reason: .owner, at: server.clock.now)
            let answer = try await Self.register(server, device, session: session)
            #expect(answer.status == 409)
            #expect(answer.text == "{\"error\":\"conflict\"}")
        }
    }

    @Test func deviceThatIsOneTooManyIsAConflict() async throws {
        try await TestServer.with { server async throws in
            for number in 1..<StoredKey.mostActive { _ = try await server.device(named: "Device \(number)") }
            let session = try await server.passwordSession()
            let last = try await Self.register(server, TestDevice(server.userHandle), session: session)
            #expect(last.status == 201)
            // As much as a client reads.
            #expect(last.body.count < 64 * 1024)
            let answer = try await Self.register(server, TestDevice(server.userHandle), session: session)
            #expect(answer.status == 409)
            #expect(server.log.reason == .keysFull)
        }
    }

    @Test(arguments: ["", String(repeating: "x", count: 65), "a\nb", "a\u{202E}b", "\u{7}"])
    func deviceNameThatShowsAsSomethingElseIsRefused(_ name: String) async throws {
        try await TestServer.with { server async throws in
            let answer = try await Self.register(
                server, TestDevice(server.userHandle), session: server.passwordSession(),
                details: { $0.deviceName = name })
            #expect(answer.isRefusal)
            #expect(server.log.reason == .detailsForm)
        }
    }

    struct Attestor: AttestationVerifier {
        func verify(_ statement: Data, publicKey: Data, challenge: Data) async throws -> String? {
            statement == Data("hardware".utf8) + challenge ? "test hardware" : nil
        }
    }

    @Test func np21_attestationIsLookedAt() async throws {
        try await TestServer.with(attestation: Attestor()) { server async throws in
            let session = try await server.passwordSession()
            #expect(try await Self.register(server, TestDevice(server.userHandle), session: session).status == 201)
            #expect(try await server.store.keys(userHandle: server.userHandle).map(\.attestation) == [nil])
            let answer = try await Self.register(
                server, TestDevice(server.userHandle), session: session,
                details: { $0.attestation = Data("another".utf8).base64URL })
            #expect(answer.isRefusal)
            #expect(server.log.reason == .attestation)
            let device = TestDevice(server.userHandle)
            let challenge = try await server.post("/v1/registrations/challenge", headers: session)
                .decode(Body.Challenge.self).challenge
            let details = Details.Register(
                publicKey: device.pem, deviceID: device.deviceID.base64URL, deviceName: "Laptop",
                attestation: (Data("hardware".utf8) + Data(base64URL: challenge)!).base64URL)
            let attested = try await server.post(
                "/v1/registrations", device.sign(.register, Data(base64URL: challenge)!, details), headers: session)
            let listed = try attested.decode(Body.Registered.self).devices.first { $0.keyID == device.keyID.base64URL }
            #expect(listed?.attestation == "test hardware")
        }
    }
}
