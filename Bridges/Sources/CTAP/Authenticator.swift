internal import Crypto
public import Foundation
internal import TouchstoneCBOR

/// A CTAP 2.1 authenticator: commands in, answers out (FD-10…17, FD-30…34, FD-55…58).
///
/// It says "user present" and "user verified" for what the device signed once its owner was judged, and for nothing else. One command at a
/// time is carried out.
public struct Authenticator: Sendable {
    /// Names the kind of this authenticator, and no single one: every copy has the same.
    static let identifier: [UInt8] = [
        0x74, 0x6F, 0x75, 0x63, 0x68, 0x73, 0x4E, 0x6F, 0xA6, 0x1D, 0x0F, 0x1D, 0x02, 0x00, 0x00, 0x01,
    ]

    enum Limits {
        static let credentials = 1000
        /// Accounts of one site that one ceremony offers: the newest.
        static let accounts = 16
        /// Seconds in which the next of several answers is asked for.
        static let next = 30.0
    }

    enum Flag {
        static let present: UInt8 = 0x01
        static let verified: UInt8 = 0x04
        static let hasCredential: UInt8 = 0x40
        static let hasExtensions: UInt8 = 0x80
        /// What a signature stands for that the enclave gave after it judged its owner (FD-30).
        static let judged = present | verified
    }

    /// Sites by which clients have a device chosen, and nothing made (FD-16).
    private static let probes: Set<String> = ["make.me.blink", ".dummy"]

    let device: any CredentialDevice
    let agreement = P256.KeyAgreement.PrivateKey()
    /// The only token that is good, if there is one.
    var token: AuthToken?
    /// What is told one by one.
    enum Several { case assertions, sites, credentials }
    private var pending: (kind: Several, channel: UInt32, until: Double, answers: [CBOR])?

    /// - Parameter device: Where credentials are kept.
    public init(device: any CredentialDevice) { self.device = device }

    /// Carries out one command.
    ///
    /// - Parameters:
    ///   - request: The command, and its parameters.
    ///   - channel: Of whom it came.
    ///   - date: What stands in a credential that is made.
    ///   - clock: Seconds, which only go forward. It is asked again after the owner was.
    /// - Returns: A status, and behind 0 what the command answers.
    public mutating func answer(_ request: [UInt8], channel: UInt32, date: Date, clock: () -> Double) -> [UInt8] {
        do throws(CTAPStatus) {
            lookAtToken(clock())
            let result = try carryOut(CTAPRequest(request), channel, date, clock)
            return [0] + (result?.encoded ?? [])
        } catch {
            return [error.rawValue]
        }
    }

    private mutating func carryOut(
        _ request: CTAPRequest, _ channel: UInt32, _ date: Date, _ clock: () -> Double
    ) throws(CTAPStatus) -> CBOR? {
        if pending?.kind != request.goesOnWith { pending = nil }
        switch request {
        case .makeCredential(let request): return try make(request, channel, date, clock())
        case .getAssertion(let request):
            return begin(.assertions, try assert(request, channel, clock()), channel, clock())
        case .getNextAssertion: return try next(.assertions, channel, clock())
        case .getInfo: return Self.info
        case .clientPIN(let request): return try carryOut(request, channel, clock)
        case .credentialManagement(let request): return try carryOut(request, channel, clock)
        // Passkeys are removed by their owner's own command (FD-17).
        case .reset: throw .notAllowed
        case .selection:
            try device.ask(.choose)
            return nil
        }
    }

    /// The first of several answers; the others wait for their channel.
    mutating func begin(_ kind: Several, _ answers: [CBOR], _ channel: UInt32, _ now: Double) -> CBOR? {
        if answers.count > 1 { pending = (kind, channel, now + Limits.next, answers.dropFirst().reversed()) }
        return answers.first
    }

    mutating func next(_ kind: Several, _ channel: UInt32, _ now: Double) throws(CTAPStatus) -> CBOR {
        guard let pending, pending.kind == kind, pending.channel == channel, pending.until > now,
            let next = pending.answers.last,
            // What a token began ends with it.
            kind == .assertions || token != nil
        else { throw .notAllowed }
        self.pending?.answers.removeLast()
        self.pending?.until = now + Limits.next
        return next
    }

    static let info: CBOR = .entries([
        (1, .array([.text("FIDO_2_0"), .text("FIDO_2_1")])),
        (2, .array([.text("credProtect"), .text("hmac-secret")])),
        (3, .bytes(identifier)),
        (
            4,
            .names([
                ("alwaysUv", .boolean(true)), ("credMgmt", .boolean(true)), ("pinUvAuthToken", .boolean(true)),
                ("plat", .boolean(false)),
                ("rk", .boolean(true)), ("up", .boolean(true)), ("uv", .boolean(true)),
            ])
        ),
        // What is longer may not fit into the queue of the kernel's device (DEC-482).
        (5, CBOR(1800)),
        (6, .array([CBOR(PINProtocol.two.rawValue), CBOR(PINProtocol.one.rawValue)])),
        (7, CBOR(Fields.longestList)),
        (8, CBOR(64)),
        // A site that remembers "internal" has browsers look for another kind of authenticator.
        (9, .array([.text("usb")])),
        (10, .array([.names([("alg", CBOR(Fields.es256)), ("type", .text(Fields.publicKey))])])),
    ])

    // MARK: Making

    private mutating func make(
        _ request: MakeCredential, _ channel: UInt32, _ date: Date, _ now: Double
    ) throws(CTAPStatus) -> CBOR {
        guard !request.isSelection else {
            try device.ask(.choose)
            throw .pinNotSet
        }
        if let proof = request.proof {
            try check(proof, of: request.clientDataHash, channel, .makeCredential, site: request.site)
        }
        let all = try device.credentials()
        let here = all.filter { Self.isSame($0.site, request.site) }
        guard !here.contains(where: { request.excluded.contains(Array($0.id)) }) else {
            // Who was asked for the token is not asked once more.
            if request.proof == nil || token?.isVerified(now) != true {
                try device.ask(.alreadyHere(site: request.site))
            }
            throw .credentialExcluded
        }
        let isProbe = Self.probes.contains(request.site)
        // Of one account of a site there is one discoverable credential (FD-13).
        let old = here.first { request.isDiscoverable && $0.isDiscoverable && Array($0.userID) == request.userID }
        guard isProbe || old != nil || all.count < Limits.credentials else { throw .keyStoreFull }

        let id = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
        let extensions: CBOR? =
            request.protection == nil && !request.wantsSecret
            ? nil
            : .names([
                ("credProtect", request.protection.map { CBOR($0) }),
                ("hmac-secret", request.wantsSecret ? .boolean(true) : nil),
            ])
        let account = [request.userName, request.displayName].compactMap { $0 }.first { !$0.isEmpty }
        let wish: Wish =
            isProbe ? .choose : .create(site: request.site, account: account, replaces: old != nil)
        let consent = consent(isProven: request.proof != nil, wish, now)
        let made = try device.makeKey(consent) { publicKey throws(CTAPStatus) in
            guard publicKey.count == 65 else { throw .other }
            let attested =
                Self.identifier + [0, UInt8(id.count)] + id
                + COSEKey.key(Array(publicKey), algorithm: Fields.es256).encoded
            return Self.message(
                request.site, request.clientDataHash, Flag.judged | Flag.hasCredential, attested, extensions)
        }
        if !isProbe {
            let secret = request.wantsSecret ? (0..<32).map { _ in UInt8.random(in: 0...255) } : nil
            try device.keep(
                Credential(
                    id: id, site: request.site, userID: Data(request.userID), userName: request.userName,
                    displayName: request.displayName, key: made.key, publicKey: made.publicKey, created: date,
                    isDiscoverable: request.isDiscoverable, protection: request.protection ?? 1,
                    hasSecret: secret != nil), secret: secret)
            if let old { try device.remove(old) }
        }
        return .entries([
            (1, .text("packed")), (2, .bytes(made.message.authenticatorData)),
            // By the credential's own key: no certificate, and nothing that tells one computer from another.
            (3, .names([("alg", CBOR(Fields.es256)), ("sig", .bytes(DERSignature.encoded(made.signature)))])),
        ])
    }

    // MARK: Signing in

    /// One answer for each account, the newest first; never none.
    private mutating func assert(
        _ request: GetAssertion, _ channel: UInt32, _ now: Double
    ) throws(CTAPStatus) -> [CBOR] {
        guard !request.isSelection else {
            try device.ask(.choose)
            throw .pinNotSet
        }
        let isProven = request.proof != nil
        if let proof = request.proof {
            try check(proof, of: request.clientDataHash, channel, .getAssertion, site: request.site)
        }
        var here = try device.credentials().filter { Self.isSame($0.site, request.site) }
        if request.isSilent, !isProven {
            // Without the owner nobody finds out where they have accounts, and what only a verified owner may find is not here.
            guard !request.allowed.isEmpty else { throw .noCredentials }
            here.removeAll { $0.protection == Fields.protectedByVerification }
        }
        var found: [Credential]
        if request.allowed.isEmpty {
            found = here.filter(\.isDiscoverable).sorted { $0.created > $1.created }
        } else {
            found = request.allowed.lazy.compactMap { id in here.first { Array($0.id) == id } }.prefix(1).map { $0 }
        }
        found = Array(found.prefix(Limits.accounts))
        guard !found.isEmpty else { throw .noCredentials }
        guard !request.isSilent else { return try silent(found, request) }

        let opened = try request.secret?.open(agreement)
        let wish: Wish = .signIn(site: request.site, accounts: Self.accounts(found))
        let signed = try device.sign(consent(isProven: isProven, wish, now), found, withSecrets: opened != nil) {
            _, secret throws(CTAPStatus) in
            var extensions: CBOR?
            if let opened, let secret { extensions = .names([("hmac-secret", try opened.answer(secret))]) }
            return Self.message(request.site, request.clientDataHash, Flag.judged, [], extensions)
        }
        guard signed.count == found.count else { throw .other }
        return zip(found, signed).enumerated().map { index, pair in
            let (credential, result) = pair
            return Self.assertion(
                credential, result.message, DERSignature.encoded(result.signature), count: found.count,
                isFirst: index == 0)
        }
    }

    /// Says that credentials are here, and no more: nothing is verified by it (FD-32).
    ///
    /// Only who has a token learns whose they are.
    private func silent(_ credentials: [Credential], _ request: GetAssertion) throws(CTAPStatus) -> [CBOR] {
        let message = Self.message(request.site, request.clientDataHash, 0, [], nil)
        // A key that nobody else has seen, and nobody will.
        guard let signature = try? P256.Signing.PrivateKey().signature(for: Data(message.digest)) else { throw .other }
        let bytes = Array(signature.derRepresentation)
        return credentials.enumerated().map { index, credential in
            guard request.proof != nil else {
                return .entries([
                    (1, Self.descriptor(credential)), (2, .bytes(message.authenticatorData)), (3, .bytes(bytes)),
                ])
            }
            return Self.assertion(credential, message, bytes, count: credentials.count, isFirst: index == 0)
        }
    }

    private static func assertion(
        _ credential: Credential, _ message: AuthenticatorMessage, _ signature: [UInt8], count: Int, isFirst: Bool
    ) -> CBOR {
        let isOneOfMany = count > 1
        // Names only where somebody has to choose.
        let user = user(credential, withNames: isOneOfMany)
        return .entries([
            (1, descriptor(credential)), (2, .bytes(message.authenticatorData)), (3, .bytes(signature)),
            (4, credential.isDiscoverable ? user : nil), (5, isOneOfMany && isFirst ? CBOR(count) : nil),
        ])
    }

    static func user(_ credential: Credential, withNames: Bool) -> CBOR {
        .names([
            ("id", .data(credential.userID)), ("name", withNames ? credential.userName.map(CBOR.text) : nil),
            ("displayName", withNames ? credential.displayName.map(CBOR.text) : nil),
        ])
    }

    static func descriptor(_ credential: Credential) -> CBOR {
        .names([("id", .data(credential.id)), ("type", .text(Fields.publicKey))])
    }

    /// Byte by byte: texts may be the same for people and not for a site.
    static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    /// The authenticator data: the site's hash, flags, a counter that is always 0, and what is told of a new credential.
    private static func message(
        _ site: String, _ clientDataHash: [UInt8], _ flags: UInt8, _ credential: [UInt8], _ extensions: CBOR?
    ) -> AuthenticatorMessage {
        let data =
            Array(SHA256.hash(data: Data(site.utf8))) + [flags | (extensions == nil ? 0 : Flag.hasExtensions)]
            + [0, 0, 0, 0] + credential + (extensions?.encoded ?? [])
        return AuthenticatorMessage(
            authenticatorData: data, digest: Array(SHA256.hash(data: Data(data + clientDataHash))))
    }
}
