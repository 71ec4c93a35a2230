import Crypto
import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// A case of a message that is signed well and refused all the same.
struct WrongMessage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: Reason
    let change: @Sendable (inout SignedMessage) -> Void

    static let all = [
        WrongMessage(testDescription: "NP-14 audience", reason: .audience) { $0.audience = "signin.test:8443" },
        WrongMessage(testDescription: "NP-14 look-alike", reason: .audience) { $0.audience = "sıgnin.test" },
        WrongMessage(testDescription: "NP-14 application", reason: .applicationUnknown) { $0.application = "other" },
        WrongMessage(testDescription: "NP-13 purpose", reason: .purpose) { $0.purpose = .revoke },
        WrongMessage(testDescription: "another key's id", reason: .keyUnknown) { $0.keyID = Data(count: 32) },
        WrongMessage(testDescription: "another user", reason: .userHandle) { $0.userHandle = Data(count: 16) },
        WrongMessage(testDescription: "NP-10 a challenge of its own", reason: .challengeUnknown) {
            $0.challenge = Data(repeating: 7, count: 32)
        },
        WrongMessage(testDescription: "NP-12 other details", reason: .detailsHash) { $0.detailsHash = Data(count: 32) },
        WrongMessage(testDescription: "NP-23 counter 0", reason: .counter) { $0.counter = 0 },
    ]
}

@Suite struct SignedRequestTests {
    @Test func np01_signatureOverAFreshChallengeSignsIn() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let answer = try await server.signIn(device)
            #expect(answer.status == 200)
            #expect(try answer.decode(Body.Session.self).keyID == device.keyID.base64URL)
            #expect(try await server.store.key(id: device.keyID)?.lastUsedAt == server.clock.now)
        }
    }

    @Test(arguments: WrongMessage.all)
    func np12_messageForAnythingElseIsRefused(_ wrong: WrongMessage) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let answer = try await server.signIn(device, change: wrong.change)
            #expect(answer.isRefusal)
            #expect(server.log.reason == wrong.reason)
        }
    }

    @Test func np11_secondSubmissionIsRefused() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let request = try device.sign(.signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            #expect(try await server.post("/v1/sessions", request).status == 200)
            #expect(try await server.post("/v1/sessions", request).isRefusal)
            #expect(server.log.reason == .challengeUnknown)
            // The replay is not the owner's copy: the key stays.
            #expect(try await server.store.key(id: device.keyID)?.state == .active)
        }
    }

    @Test func np11_ofConcurrentSubmissionsOneIsAccepted() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let request = try device.sign(.signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await server.post("/v1/sessions", request).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(statuses.filter { $0 == 401 }.count == 7)
        }
    }

    @Test(arguments: [(59.0, true), (60.0, false), (61.0, false)])
    func np11_challengeIsGoodForSixtySeconds(_ seconds: TimeInterval, _ isGood: Bool) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            server.clock.advance(by: seconds)
            let answer = try await server.post(
                "/v1/sessions",
                device.sign(.signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint)))
            #expect(answer.status == (isGood ? 200 : 401))
            #expect(isGood || server.log.reason == .challengeExpired)
        }
    }

    @Test(arguments: ["audience", "trailing byte", "version", "signature"])
    func np11_failedCheckSpendsTheChallenge(_ wrong: String) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let details = try JSONEncoder().encode(Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            var message = device.message(.signIn, challenge, details)
            if wrong == "audience" { message.audience = "other" }
            var bytes = message.bytes
            if wrong == "trailing byte" { bytes.append(0) }
            if wrong == "version" { bytes[6] = 2 }
            let signature = wrong == "signature" ? Data([0x30, 0]) : try device.signature(bytes)
            let first = SignedRequest(message: bytes, signature: signature, details: details)
            #expect(try await server.post("/v1/sessions", first).isRefusal)

            let right = device.message(.signIn, challenge, details)
            let second = SignedRequest(
                message: right.bytes, signature: try device.signature(right.bytes), details: details)
            #expect(try await server.post("/v1/sessions", second).isRefusal)
            #expect(server.log.reason == .challengeUnknown)
        }
    }

    @Test(arguments: [
        (Reason.messageVersion, { @Sendable (bytes: inout Data) in bytes[6] = 2 }),
        (.messageForm, { @Sendable (bytes: inout Data) in bytes.append(0) }),
        (.messageForm, { @Sendable (bytes: inout Data) in bytes.removeLast() }),
        (.messageForm, { @Sendable (bytes: inout Data) in bytes[0] = 0x6C }),
        (.purpose, { @Sendable (bytes: inout Data) in bytes[11] = 0x53 }),
    ])
    func np12_messageOfAnotherFormIsRefused(_ reason: Reason, _ change: @Sendable (inout Data) -> Void) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let details = try JSONEncoder().encode(Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            var bytes = device.message(.signIn, challenge, details).bytes
            change(&bytes)
            let request = SignedRequest(message: bytes, signature: try device.signature(bytes), details: details)
            #expect(try await server.post("/v1/sessions", request).isRefusal)
            #expect(server.log.reason == reason)
        }
    }

    @Test func np10_challengeOfAnotherKeyOrPurposeIsRefused() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let other = try await server.device(named: "Other")
            let details = Details.SignIn(sessionKey: TestSessionKey().thumbprint)
            for challenge in [
                try await server.challenge(for: .signIn, keyID: other.keyID),
                try await server.challenge(for: .revoke, keyID: device.keyID),
            ] {
                #expect(try await server.post("/v1/sessions", device.sign(.signIn, challenge, details)).isRefusal)
                #expect(server.log.reason == .challengeForAnother)
            }
        }
    }

    @Test func signatureOfAnotherKeyIsRefused() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let request = try device.sign(.signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            let forged = SignedRequest(
                message: Data(base64URL: request.message)!,
                signature: try TestDevice(server.userHandle).signature(Data(base64URL: request.message)!),
                details: Data(base64URL: request.details)!)
            #expect(try await server.post("/v1/sessions", forged).isRefusal)
            #expect(server.log.reason == .signature)
        }
    }

    @Test(arguments: [0, 1, UInt64(Int64.max)])
    func np15_clientsClockRefusesNothing(_ time: UInt64) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            #expect(try await server.signIn(device) { $0.issuedAt = time }.status == 200)
        }
    }

    @Test(arguments: [5, 4, 1] as [UInt64])
    func np23_counterThatDoesNotRiseRevokesTheKey(_ counter: UInt64) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            #expect(try await server.signIn(device, counter: 5).status == 200)
            #expect(try await server.signIn(device, counter: counter).isRefusal)
            #expect(server.log.reason == .counter)
            guard case .revoked(.counter, _) = try await server.store.key(id: device.keyID)?.state else {
                Issue.record("the key is not revoked")
                return
            }
            #expect(server.notices.all == [.revoked(device: "Laptop", .counter)])
        }
    }

    @Test(arguments: [true, false])
    func np23_requestThatWasOvertakenIsRefusedAndRevokesNothing(_ isOvertaken: Bool) async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let details = Details.SignIn(sessionKey: TestSessionKey().thumbprint)
            var challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            server.clock.advance(by: 1)
            #expect(try await server.signIn(device, counter: 6).status == 200)
            if !isOvertaken {
                server.clock.advance(by: 1)
                challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            }
            let request = try device.sign(.signIn, challenge, details, counter: 5)
            #expect(try await server.post("/v1/sessions", request).isRefusal)
            #expect(server.log.reason == (isOvertaken ? .counterOvertaken : .counter))
            #expect((try await server.store.key(id: device.keyID)?.state == .active) == isOvertaken)
        }
    }

    @Test func np23_counterThatRisesIsAccepted() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            for counter in [1, 2, 1000, UInt64.max] {
                #expect(try await server.signIn(device, counter: counter).status == 200)
            }
        }
    }

    @Test func np23_forgedCounterRevokesNothing() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            #expect(try await server.signIn(device, counter: 5).status == 200)
            let forger = TestDevice(server.userHandle)
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let request = try forger.sign(
                .signIn, challenge, Details.SignIn(sessionKey: TestSessionKey().thumbprint), counter: 5
            ) { $0.keyID = device.keyID }
            #expect(try await server.post("/v1/sessions", request).isRefusal)
            #expect(try await server.store.key(id: device.keyID)?.state == .active)
        }
    }

    @Test func np12_detailsWithMoreThanTheirFieldsAreRefused() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let challenge = try await server.challenge(for: .signIn, keyID: device.keyID)
            let details = ["sessionKey": TestSessionKey().thumbprint, "web": "x", "code": "1", "origin": "y"]
            #expect(try await server.post("/v1/sessions", device.sign(.signIn, challenge, details)).isRefusal)
            #expect(server.log.reason == .detailsForm)
        }
    }
}
