import Crypto
import Foundation
import TouchstoneSignInProtocol

@available(macOS 14, iOS 17, *)
extension SignInClient {
    /// Replaces the key by a new one.
    ///
    /// Asks the owner; no password is needed. If the answer was lost the server may have either key: both are kept, and the next call
    /// finds out which one counts.
    ///
    /// - Throws: ``SignInError``.
    public func rotate() async throws(SignInError) {
        try await usingKey { signer in
            let key = try await Self.ofNewKey { try await self.made(self.audience) }
            let request: SignedRequest
            do {
                request = try await self.rotation(from: signer, to: key)
                try await self.expect(key, after: signer)
            } catch {
                // Not sent: the server knows nothing of the new key.
                try? await self.keychain.deleteKey(tag: key.tag)
                throw error
            }
            do throws(SignInError) {
                let rotated = try await self.transport.call("/v1/keys/rotate", request, returning: Body.KeyID.self)
                guard rotated.keyID == key.id.base64URL else { throw .badAnswer("it names another key") }
            } catch {
                if Self.isRefusal(error) { try? await self.expectNoMore(key) }
                throw error
            }
            try await self.promote(.init(keyID: key.id, keyTag: key.tag))
        }
    }

    /// The request, signed by both keys.
    private func rotation(from signer: Signer, to key: NewKey) async throws -> SignedRequest {
        // One question for both signatures: the two keys ask for the same fingers.
        let prompt = Prompt(reason: PromptText.rotate(audience))
        var request = try await answer(
            .rotate, Details.Rotate(publicKey: key.publicKey.pemRepresentation), signer, prompt)
        guard let message = Data(base64URL: request.message) else { throw SignInError.badAnswer("no message") }
        request.newSignature = try await Self.ofNewKey {
            try await self.sign(message, tag: key.tag, prompt).base64URL
        }
        // The new key goes on from the number that the server has seen with its first message.
        try await keychain.startCounter(tag: key.tag, at: try SignedMessage(bytes: message).counter)
        return request
    }

    /// A failure with a new key says nothing about the key that the record names.
    private static func ofNewKey<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch KeyUseFailure.other(let error) {
            throw error
        } catch is KeyUseFailure {
            throw SignInError.notAvailable("the new key cannot be used, so the earlier one stays; try again")
        }
    }

    /// Whether the server has said that it did not do what was asked.
    private static func isRefusal(_ error: SignInError) -> Bool {
        switch error {
        case .refused, .notFound, .conflict, .tooManyRequests: true
        default: false
        }
    }

    /// Notes a key before the server hears of it, so that it is found after a crash or a lost answer.
    private func expect(_ key: NewKey, after signer: Signer) async throws {
        guard let record = try await keychain.record(audience) else { throw SignInError.notRegistered }
        try await keychain.store(
            record.with(
                keyID: signer.keyID, keyTag: signer.tag, pending: .init(keyID: key.id, keyTag: key.tag)))
        if let earlier = record.pending, earlier.keyTag != signer.tag {
            try? await keychain.deleteKey(tag: earlier.keyTag)
        }
    }

    private func expectNoMore(_ key: NewKey) async throws {
        guard var record = try await keychain.record(audience), record.pending?.keyTag == key.tag else { return }
        record.pending = nil
        try await keychain.store(record)
        try await keychain.deleteKey(tag: key.tag)
    }

    /// The key that was pending is this device's from now on.
    private func promote(_ pending: RegisteredServer.Pending) async throws {
        guard let record = try await keychain.record(audience), record.pending == pending else { return }
        try await keychain.store(record.with(keyID: pending.keyID, keyTag: pending.keyTag))
        // What cannot be deleted now goes with the next rotation or registration.
        try? await keychain.deleteKeys(audience, except: pending.keyTag)
    }

    /// Does it with the key of a rotation whose answer was lost, if there was one, now that the server says the earlier key is revoked.
    ///
    /// The record changes only when the server has taken the key: till then neither of the two is given up.
    func usingPendingKey<Result: Sendable>(
        of record: RegisteredServer, _ body: @Sendable (Signer) async throws -> Result
    ) async throws -> Result {
        guard let pending = record.pending else { throw SignInError.refused(clockDifference: nil) }
        do {
            let result = try await Self.ofNewKey {
                try await body(Signer(keyID: pending.keyID, userHandle: record.userHandle, tag: pending.keyTag))
            }
            try await promote(pending)
            return result
        } catch is RevokedKey {
            throw SignInError.refused(clockDifference: nil)
        }
    }
}
