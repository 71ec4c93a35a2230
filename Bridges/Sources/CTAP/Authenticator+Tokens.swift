internal import Crypto
internal import TouchstoneCBOR

/// Tokens: the owner is verified first, and the client then proves that a request is the one that was meant (FD-55, FD-56).
extension Authenticator {
    /// The most that CTAP allows: no number of misses ends the verification, because the passcode stays.
    private static let uvRetries = 25

    mutating func carryOut(_ request: ClientPIN, _ channel: UInt32, _ clock: () -> Double) throws(CTAPStatus) -> CBOR {
        switch request {
        case .keyAgreement:
            let point = Array(agreement.publicKey.x963Representation)
            return .entries([(1, COSEKey.key(point, algorithm: COSEKey.agreement))])
        case .uvRetries: return .entries([(5, CBOR(try device.canVerify() ? Self.uvRetries : 0))])
        case .token(let request): return try issue(request, channel, clock)
        }
    }

    /// Asks the owner for what the token will be good for.
    ///
    /// A token that was there before is over, also after a no.
    private mutating func issue(
        _ request: TokenRequest, _ channel: UInt32, _ clock: () -> Double
    ) throws(CTAPStatus) -> CBOR {
        guard try device.canVerify() else { throw .uvBlocked }
        let keys = try request.version.keys(agreement, with: request.share)
        let accounts = try request.site.map { site throws(CTAPStatus) in
            Self.accounts(try device.credentials().filter { Self.isSame($0.site, site) })
        }
        endToken()
        try device.hold(.allow(request.permissions, site: request.site, accounts: accounts ?? []))
        let token = AuthToken(request, channel: channel, issued: clock())
        self.token = token
        // Nothing is signed with a token that only lists.
        if request.permissions.isDisjoint(with: .ofOneSite) { device.release() }
        return .entries([(2, .bytes(try token.sealed(keys)))])
    }

    mutating func endToken() {
        guard token != nil else { return }
        token = nil
        device.release()
    }

    /// Ends a token whose time is over.
    mutating func lookAtToken(_ now: Double) {
        if token?.isOver(now) ?? false { endToken() }
    }

    /// Checks what a request for a passkey of a site proves.
    ///
    /// - Throws: `CTAPStatus.pinAuthInvalid`.
    mutating func check(
        _ proof: TokenProof, of clientDataHash: [UInt8], _ channel: UInt32, _ permission: Permissions, site: String
    ) throws(CTAPStatus) {
        guard let known = token?.site, Self.isSame(known, site) else { throw .pinAuthInvalid }
        try token?.check(proof, of: clientDataHash, channel: channel, permission: permission)
    }

    /// The judgement for one passkey: whatever token there was is over with it, so that it is good once.
    ///
    /// - Parameters:
    ///   - isProven: Whether the request has proven that its client has the token.
    ///   - wish: What the owner is asked if the proof is not good any more.
    ///   - now: The time.
    /// - Returns: Where the judgement comes from.
    mutating func consent(isProven: Bool, _ wish: Wish, _ now: Double) -> Consent {
        defer { token = nil }
        if isProven, token?.isVerified(now) ?? false { return .held }
        if token != nil { device.release() }
        return .ask(wish)
    }

    /// What people read of them, the newest first.
    static func accounts(_ credentials: [Credential]) -> [String] {
        credentials.sorted { $0.created > $1.created }.prefix(Limits.accounts)
            .map { $0.account ?? "an account without a name" }
    }
}
