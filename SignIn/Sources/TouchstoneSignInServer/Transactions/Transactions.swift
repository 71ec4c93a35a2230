import Foundation
import Hummingbird
import TouchstoneSignInProtocol

extension SignInServer {
    /// `POST /v1/transactions`: asks the session's own device to confirm a text.
    func addTransaction(_ call: Call) async throws -> Response {
        let identity = try await authenticate(call.request)
        let text = try call.decode(Body.TransactionText.self).text
        guard DisplayText.isValid(text, maximum: 200) else { throw Failure.malformed(.body) }
        let id = configuration.random(16).base64URL
        try await store.addTransaction(
            StoredTransaction(
                id: id, userHandle: identity.userHandle, text: text,
                expiresAt: configuration.now + configuration.lifetimes.transaction, confirmedBy: nil))
        let challenge = try await addChallenge(for: .confirmTransaction, keyID: identity.keyID, binding: Data(id.utf8))
        return try .json(
            Body.Transaction(
                transaction: id, text: text, challenge: challenge.challenge, expiresIn: challenge.expiresIn,
                serverTime: challenge.serverTime))
    }

    /// `POST /v1/transactions/confirm`: the text is in what the finger signed (NP-13).
    func confirmTransaction(_ call: Call) async throws -> Response {
        let signed = try await verify(call, for: .confirmTransaction) { $0.binding != nil }
        let key = signed.key
        let details = try signed.submitted.details(Details.ConfirmTransaction.self, ["transaction", "text"])
        guard signed.challenge.binding == Data(details.transaction.utf8),
            let transaction = try await store.transaction(id: details.transaction),
            transaction.userHandle == key.userHandle, Array(transaction.text.utf8) == Array(details.text.utf8),
            transaction.expiresAt > configuration.now,
            try await store.confirmTransaction(id: transaction.id, keyID: key.id, at: configuration.now)
        else { throw Failure.refused(.transaction, key: key.id) }
        call.tell("transaction confirmed", key: key.id)
        return try .json(Body.TransactionState(transaction: transaction.id, state: "confirmed"))
    }
}
