import CTAPHID
import Crypto
import Foundation
import TouchstoneCBOR

@testable import CTAP

/// Approves everything, and signs nothing: what is tried is what comes from outside.
private struct NobodysDevice: CredentialDevice {
    var kept: [Credential] = []
    func credentials() throws(CTAPStatus) -> [Credential] { kept }
    func ask(_ wish: Wish) throws(CTAPStatus) {}
    func canVerify() throws(CTAPStatus) -> Bool { true }
    func hold(_ wish: Wish) throws(CTAPStatus) {
        if case .allow(let permissions, let site, _) = wish {
            hold(!permissions.isEmpty && site.map { $0.utf8.count <= 253 } ?? true, "a token for nothing")
        }
    }
    func release() {}
    func makeKey(
        _ consent: Consent, _ message: @escaping @Sendable (Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey {
        let point = Data([4] + [UInt8](repeating: 1, count: 64))
        return NewKey(
            key: Data(), publicKey: point, message: try message(point), signature: [UInt8](repeating: 0xFF, count: 64))
    }
    func sign(
        _ consent: Consent, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])] { [] }
    func keep(_ credential: Credential, secret: [UInt8]?) throws(CTAPStatus) {
        hold(credential.site.utf8.count <= 253 && credential.userID.count <= 64, "a credential that is too long")
    }
    func update(_ credential: Credential) throws(CTAPStatus) {
        hold(
            kept.contains { $0.id == credential.id && $0.userID == credential.userID }, "another credential is changed")
    }
    func remove(_ credential: Credential) throws(CTAPStatus) {
        hold(kept.contains(credential), "another credential is removed")
    }
    private func hold(_ isSo: Bool, _ what: String) { fuzz.hold(isSo, what) }
}

/// The client of a token for everything, which proves whatever the bytes say: a subcommand or a command, and its parameters.
private enum TokenHolder {
    private static let own = P256.KeyAgreement.PrivateKey()
    private static let site = "example.com"
    private static let kept = [UInt8(1), 2].map { number in
        Credential(
            id: Data([number]), site: site, userID: Data([number]), userName: "ada", displayName: nil, key: Data(),
            publicKey: Data([4] + [UInt8](repeating: 1, count: 64)), created: Date(timeIntervalSince1970: 0),
            isDiscoverable: true, protection: 1, hasSecret: false)
    }

    static func run(_ bytes: [UInt8]) {
        guard let number = bytes.first, let parameters = try? CBOR(Array(bytes.dropFirst())) else { return }
        var authenticator = Authenticator(device: NobodysDevice(kept: kept))
        func answer(_ request: [UInt8]) -> [UInt8] {
            authenticator.answer(request, channel: 1, date: Date(timeIntervalSince1970: 0)) { 0 }
        }
        let share = COSEKey.key(Array(own.publicKey.x963Representation), algorithm: COSEKey.agreement)
        let wanted: CBOR = .entries([
            (1, CBOR(2)), (2, CBOR(6)), (3, share), (9, CBOR(number & 0x80 == 0 ? 4 : 7)),
            (10, number & 0x80 == 0 ? nil : .text(site)),
        ])
        guard case .map(let agreement)? = try? CBOR(Array(answer([6, 0xA2, 1, 2, 2, 2]).dropFirst())),
            let point = agreement[CBOR(1)].flatMap({ try? COSEKey.point($0) }),
            let theirs = try? P256.KeyAgreement.PublicKey(x963Representation: point),
            let agreed = try? own.sharedSecretFromKeyAgreement(with: theirs),
            case .map(let token)? = try? CBOR(Array(answer([6] + wanted.encoded).dropFirst())),
            case .bytes(let sealed)? = token[CBOR(2)],
            let secret = try? PINProtocol.two.decrypt(sealed, PINProtocol.two.keys(agreed))
        else { return hold(false, "no token") }
        func code(_ message: [UInt8]) -> CBOR {
            .data(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: secret)))
        }
        let subcommand = number & 0x07
        let request: CBOR = .entries([
            (1, CBOR(Int(subcommand))), (2, parameters), (3, CBOR(2)), (4, code([subcommand] + parameters.encoded)),
        ])
        _ = answer([0x0A] + request.encoded)
        _ = answer([0x0A, 0xA1, 1, number & 0x08 == 0 ? 3 : 5])
        // The same bytes as a request for a passkey, whose hash they may have.
        guard case .map(var fields) = parameters else { return }
        let isMaking = number & 0x10 == 0
        let hash = fields[CBOR(isMaking ? 1 : 2)]
        guard case .bytes(let message)? = hash else { return }
        fields[CBOR(isMaking ? 8 : 6)] = code(message)
        fields[CBOR(isMaking ? 9 : 7)] = CBOR(2)
        hold(!answer([isMaking ? 1 : 2] + CBOR.map(fields).encoded).isEmpty, "no answer")
    }
}

/// Packets of 64 bytes, one after the other, each followed by what the request in it is answered.
private func packets(_ bytes: [UInt8]) {
    var transport = HIDTransport(version: (1, 0, 0))
    var authenticator = Authenticator(device: NobodysDevice())
    var now = 0.0
    for start in stride(from: 0, to: bytes.count, by: 64) {
        now += Double(bytes[start]) / 512
        var outputs = transport.receive(Array(bytes[start..<min(start + 64, bytes.count)]), now: now)
        outputs += transport.tick(now: now, isAsking: false)
        var index = 0
        while index < outputs.count {
            switch outputs[index] {
            case .send(let packets):
                hold(packets.count <= 129 && packets.allSatisfy { $0.count == 64 }, "a packet of another length")
            case .begin(let channel, let request):
                hold(transport.isBusy, "a request that nobody carries out")
                outputs += transport.finish(
                    authenticator.answer(request, channel: channel, date: Date(timeIntervalSince1970: 0)) { now })
            case .cancel: break
            }
            index += 1
        }
    }
}

let fidoTargets = [
    FuzzTarget(
        name: "fido",
        run: { bytes in
            let bytes = Array(bytes)
            packets(bytes)
            _ = UHIDEvent(bytes).map(\.refusal)
            if let value = try? CBOR(bytes) { hold(value.encoded == bytes, "another form is read") }
            var authenticator = Authenticator(device: NobodysDevice())
            let answer = authenticator.answer(bytes, channel: 1, date: Date(timeIntervalSince1970: 0)) { 0 }
            hold(!answer.isEmpty && answer.count <= 7609, "no answer")
            if answer[0] == 0, answer.count > 1 { hold((try? CBOR(Array(answer.dropFirst()))) != nil, "no CBOR") }
            TokenHolder.run(bytes)
        },
        // The kept corpus has what libfido2 1.12 and python-fido2 2.2 send.
        seeds: {
            let start: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0x86, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]
            let info: [UInt8] = [0, 0, 0, 1, 0x90, 0, 1, 4]
            func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + [UInt8](repeating: 0, count: 64 - bytes.count) }
            return [
                Data(padded(start) + padded(info)), Data([4]), Data([6, 0xA2, 1, 2, 2, 2]), Data([0xA2, 1, 2, 3, 4]),
                Data([6, 0xA1, 2, 7]), Data([0x0A, 0xA1, 1, 3]),
                // A subcommand, and its parameters: of a site, a passkey, and a user.
                Data([4] + CBOR.entries([(1, .bytes([UInt8](repeating: 1, count: 32)))]).encoded),
                Data([6] + CBOR.entries([(2, .names([("id", .bytes([1])), ("type", .text("public-key"))]))]).encoded),
                Data(
                    [7]
                        + CBOR.entries([
                            (2, .names([("id", .bytes([1])), ("type", .text("public-key"))])),
                            (3, .names([("id", .bytes([1])), ("name", .text("ada"))])),
                        ]).encoded),
            ]
        })
]
