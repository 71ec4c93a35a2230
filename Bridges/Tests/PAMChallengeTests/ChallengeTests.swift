import Crypto
import Foundation
import PAMChallenge
import Testing

@Suite("What the enclave signs for PAM (PM-1)")
struct ChallengeTests {
    static let challenge = Challenge(
        random: Data(0..<32), userID: 1000, service: "sudo", user: "ada", terminal: "/dev/pts/3", bootID: "b0")

    let key = P256.Signing.PrivateKey()

    func sign(_ challenge: Challenge) throws -> Data {
        try key.signature(for: SHA256.hash(data: challenge.bytes)).rawRepresentation
    }

    @Test("PM-1: the enclave's signature over this challenge is accepted")
    func signatureIsAccepted() throws {
        #expect(try Self.challenge.isSigned(sign(Self.challenge), by: key.publicKey.x963Representation))
        // What is sent to be signed is what is verified.
        let signature = try key.signature(for: Digest(Self.challenge.digest))
        #expect(Self.challenge.isSigned(signature.rawRepresentation, by: key.publicKey.x963Representation))
    }

    @Test(
        "PM-1: a signature over anything else is refused",
        arguments: [
            { $0.random = Data(1..<33) }, { $0.userID = 1001 }, { $0.service = "su" }, { $0.user = "bob" },
            { $0.terminal = "/dev/pts/4" }, { $0.bootID = "b1" },
        ] as [@Sendable (inout Challenge) -> Void])
    func otherSignatureIsRefused(change: @Sendable (inout Challenge) -> Void) throws {
        var other = Self.challenge
        change(&other)
        #expect(other != Self.challenge)
        #expect(try !Self.challenge.isSigned(sign(other), by: key.publicKey.x963Representation))
        #expect(try other.isSigned(sign(other), by: key.publicKey.x963Representation))
    }

    @Test("PM-1: another user's key, and what is no signature or no key, is refused")
    func otherKeysAreRefused() throws {
        let signature = try sign(Self.challenge)
        let point = key.publicKey.x963Representation
        #expect(!Self.challenge.isSigned(signature, by: P256.Signing.PrivateKey().publicKey.x963Representation))
        #expect(!Self.challenge.isSigned(Data(), by: point))
        #expect(!Self.challenge.isSigned(Data(count: 64), by: point))
        #expect(!Self.challenge.isSigned(signature.dropLast(), by: point))
        #expect(!Self.challenge.isSigned(signature + [0], by: point))
        #expect(!Self.challenge.isSigned(signature, by: Data(count: 65)))
        #expect(!Self.challenge.isSigned(signature, by: Data()))
    }

    @Test("PM-1: no part can pass for the end of another")
    func partsAreKeptApart() {
        var one = Self.challenge
        var two = Self.challenge
        (one.service, one.user) = ("sudo", "ada")
        (two.service, two.user) = ("sud", "oada")
        #expect(one.bytes != two.bytes)
        #expect(Self.challenge.bytes.count == 7 * 4 + 19 + 32 + 4 + 4 + 3 + 10 + 2)
    }
}

/// 32 bytes that somebody hashed already.
private struct Digest: Crypto.Digest {
    static let byteCount = 32
    let bytes: [UInt8]
    init(_ data: Data) { bytes = Array(data) }
    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
    func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
    var description: String { "digest" }
}
