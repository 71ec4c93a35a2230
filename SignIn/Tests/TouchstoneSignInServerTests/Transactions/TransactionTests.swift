import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// NP-13.
@Suite struct TransactionTests {
    static func ask(
        _ server: TestServer, _ device: TestDevice, _ text: String = "Pay 5 € to Otto"
    ) async throws -> Body.Transaction {
        let key = TestSessionKey()
        let token = try await server.signIn(device, key).decode(Body.Session.self).accessToken
        let headers = try key.headers("POST", "/v1/transactions", token: token, at: server.clock.now)
        let answer = try await server.post("/v1/transactions", Body.TransactionText(text: text), headers: headers)
        return try answer.decode()
    }

    static func confirm(
        _ server: TestServer, _ device: TestDevice, _ transaction: Body.Transaction, text: String? = nil,
        id: String? = nil, purpose: Purpose = .confirmTransaction
    ) async throws -> Answer {
        let details = Details.ConfirmTransaction(
            transaction: id ?? transaction.transaction, text: text ?? transaction.text)
        let challenge = Data(base64URL: transaction.challenge)!
        return try await server.post("/v1/transactions/confirm", device.sign(purpose, challenge, details))
    }

    @Test func textThatTheFingerSignedIsConfirmedOnce() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let transaction = try await Self.ask(server, device)
            #expect(transaction.text == "Pay 5 € to Otto")
            let answer = try await Self.confirm(server, device, transaction)
            #expect(try answer.decode(Body.TransactionState.self).state == "confirmed")
            #expect(try await server.store.transaction(id: transaction.transaction)?.confirmedBy == device.keyID)
            #expect(try await Self.confirm(server, device, transaction).isRefusal)
        }
    }

    @Test func anotherTextIsNotConfirmed() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            // The last is the same to a reader, and not the same bytes.
            for (text, signed) in [("Pay 5", "Pay 50"), ("é", "e\u{301}")] {
                let transaction = try await Self.ask(server, device, text)
                #expect(try await Self.confirm(server, device, transaction, text: signed).isRefusal)
                #expect(server.log.reason == .transaction)
                #expect(try await server.store.transaction(id: transaction.transaction)?.confirmedBy == nil)
            }
        }
    }

    @Test func challengeOfOneTransactionConfirmsNoOther() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let small = try await Self.ask(server, device, "Pay 5")
            let large = try await Self.ask(server, device, "Pay 5000")
            let answer = try await Self.confirm(
                server, device, small, text: large.text, id: large.transaction)
            #expect(answer.isRefusal)
            #expect(server.log.reason == .transaction)
        }
    }

    @Test func signInSignatureConfirmsNothingAndTheReverse() async throws {
        try await TestServer.with { server async throws in
            let device = try await server.device()
            let transaction = try await Self.ask(server, device)
            #expect(try await Self.confirm(server, device, transaction, purpose: .signIn).isRefusal)
            #expect(server.log.reason == .purpose)
            let second = try await Self.ask(server, device)
            let request = try device.sign(
                .confirmTransaction, Data(base64URL: second.challenge)!,
                Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            #expect(try await server.post("/v1/sessions", request).isRefusal)
            #expect(server.log.reason == .purpose)
            // Named a sign-in, with the transaction's challenge.
            let third = try await Self.ask(server, device)
            let renamed = try device.sign(
                .signIn, Data(base64URL: third.challenge)!, Details.SignIn(sessionKey: TestSessionKey().thumbprint))
            #expect(try await server.post("/v1/sessions", renamed).isRefusal)
            #expect(server.log.reason == .challengeForAnother)
        }
    }

    @Test func anotherDeviceOfTheAccountConfirmsNothing() async throws {
        try await TestServer.with { server async throws in
            let transaction = try await Self.ask(server, server.device())
            let other = try await server.device(named: "Other")
            #expect(try await Self.confirm(server, other, transaction).isRefusal)
            #expect(server.log.reason == .challengeForAnother)
        }
    }

    @Test(arguments: ["", String(repeating: "x", count: 201), "Pay 5\nPay 0", "Pay \u{202E}5"])
    func textThatShowsAsSomethingElseIsMalformed(_ text: String) async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let token = try await server.signIn(server.device(), key).decode(Body.Session.self).accessToken
            let headers = try key.headers("POST", "/v1/transactions", token: token)
            let answer = try await server.post("/v1/transactions", Body.TransactionText(text: text), headers: headers)
            #expect(answer.status == 400)
        }
    }
}
