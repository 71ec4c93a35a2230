import TouchstoneSignInProtocol

/// Something that the server wants confirmed by the owner's finger.
@available(macOS 14, iOS 17, *)
public struct Transaction: Sendable {
    /// What the server calls it.
    public let id: String
    /// What the prompt shows and what is signed.
    public let text: String
    let challenge: String
    /// From then on the challenge is void.
    let expires: ContinuousClock.Instant

    init(_ answer: Body.Transaction, expires: ContinuousClock.Instant) {
        id = answer.transaction
        text = answer.text
        challenge = answer.challenge
        self.expires = expires
    }
}
