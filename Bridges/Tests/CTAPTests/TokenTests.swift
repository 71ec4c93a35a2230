import Crypto
import Foundation
import Testing
import TouchstoneCBOR

@testable import CTAP

/// A client that asks for tokens, and proves that it has one, as the standard says.
struct TokenClient {
    let own = P256.KeyAgreement.PrivateKey()
    let version: PINProtocol
    private(set) var secret: [UInt8] = []

    init(_ version: PINProtocol = .two) { self.version = version }

    func request(
        _ permissions: Int?, site: String? = "example.com", version: Int? = nil, without: Int? = nil,
        share: CBOR? = nil
    ) -> [UInt8] {
        var fields: [CBOR: CBOR] = [
            CBOR(1): CBOR(version ?? self.version.rawValue), CBOR(2): CBOR(6),
            CBOR(3): share ?? COSEKey.key(Array(own.publicKey.x963Representation), algorithm: -25),
        ]
        fields[CBOR(9)] = permissions.map { CBOR($0) }
        fields[CBOR(10)] = site.map(CBOR.text)
        if let without { fields[CBOR(without)] = nil }
        return [6] + CBOR.map(fields).encoded
    }

    /// Status of the request; after 0 it has the token.
    mutating func get(_ permissions: Int, site: String? = "example.com", _ bench: inout Bench, channel: UInt32 = 1)
        throws -> UInt8
    {
        let (_, agreement) = bench.answer([6, 0xA2, 1, UInt8(version.rawValue), 2, 2], channel: channel)
        let point = try COSEKey.point(#require(agreement[CBOR(1)]))
        let keys = version.keys(
            try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: point)))
        let (status, result) = bench.answer(request(permissions, site: site), channel: channel)
        guard status == 0 else { return status }
        guard case .bytes(let sealed)? = result[CBOR(2)] else { return 0xFF }
        #expect(sealed.count == (version == .one ? 32 : 48))
        secret = try version.decrypt(sealed, keys)
        #expect(secret.count == 32)
        return 0
    }

    func code(_ message: [UInt8] = clientDataHash) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: secret)))
            .prefix(version == .one ? 16 : 32).map { $0 }
    }

    func make(_ site: String = "example.com", options: [String: Bool] = ["rk": true], excluded: [[UInt8]]? = nil)
        -> [UInt8]
    {
        Requests.make(site: site, options: options, excluded: excluded, pin: code(), version: version.rawValue)
    }

    func assertion(_ site: String = "example.com", allowed: [[UInt8]]? = nil, options: [String: Bool] = [:]) -> [UInt8]
    {
        Requests.get(site: site, allowed: allowed, options: options, pin: code(), version: version.rawValue)
    }
}

/// Tokens with the owner's verification, and what they are good for (FD-55, FD-56).
@Suite struct TokenTests {
    private static let versions: [PINProtocol] = [.one, .two]

    @Test("FD-30, FD-55: one verification is for one passkey, with both protocols", arguments: versions)
    func made(_ version: PINProtocol) throws {
        var bench = Bench()
        var client = TokenClient(version)
        #expect(try client.get(1, &bench) == 0)
        #expect(bench.wishes() == [.allow(.makeCredential, site: "example.com", accounts: [])])
        let (status, result) = bench.answer(client.make())
        #expect(status == 0)
        #expect(flags(result) == 0x45)
        #expect(bench.wishes() == [], "the owner was asked for the token")
        // The second passkey is not what the owner said yes to.
        #expect(bench.answer(client.make()).status == 0x33)
        #expect(bench.wishes() == [])
        #expect(bench.device.state.withLock { $0.signatures } == 1)
    }

    @Test("FD-30, FD-55: one verification is for one sign-in", arguments: versions)
    func signedIn(_ version: PINProtocol) throws {
        var bench = Bench()
        _ = bench.made()
        var client = TokenClient(version)
        #expect(try client.get(2, &bench) == 0)
        #expect(bench.wishes() == [.allow(.getAssertion, site: "example.com", accounts: ["ada"])])
        let (status, result) = bench.answer(client.assertion())
        #expect(status == 0)
        #expect(flags(result) == 0x05)
        #expect(try bench.verifies(result, by: bench.key))
        #expect(bench.answer(client.assertion()).status == 0x33)
        #expect(bench.wishes() == [])
    }

    @Test("FD-55: a token for both is for one of them, after any number of silent looks") func both() throws {
        var bench = Bench()
        let id = bench.made()
        var client = TokenClient()
        #expect(try client.get(3, &bench) == 0)
        #expect(
            bench.wishes() == [.allow([.makeCredential, .getAssertion], site: "example.com", accounts: ["ada"])])
        for _ in 0..<3 {
            let (status, result) = bench.answer(client.assertion(allowed: [id], options: ["up": false]))
            #expect(status == 0)
            #expect(flags(result) == 0)
            #expect(try !bench.verifies(result, by: bench.key))
        }
        #expect(bench.answer(client.make(excluded: [id])).status == 0x19)
        #expect(bench.answer(client.make()).status == 0)
        #expect(bench.answer(client.assertion()).status == 0x33)
        #expect(bench.wishes() == [])
    }

    @Test("FD-32: with a token a silent look finds accounts, and without it none") func look() throws {
        var bench = Bench()
        _ = bench.made(user: [1], name: "ada")
        _ = bench.made(user: [2], name: "bob")
        var client = TokenClient()
        #expect(try client.get(2, &bench) == 0)
        let (status, result) = bench.answer(client.assertion(options: ["up": false]))
        #expect(status == 0)
        #expect(result[CBOR(5)] == CBOR(2))
        #expect(result[CBOR(4)] == .map([.text("id"): .bytes([2]), .text("name"): .text("bob")]))
        #expect(flags(result) == 0)
        let (next, second) = bench.answer([8])
        #expect(next == 0)
        #expect(flags(second) == 0)
        #expect(bench.answer(Requests.get(options: ["up": false])).status == 0x2E)
        // The option for a verification does not count beside a token.
        #expect(flags(bench.answer(client.assertion(options: ["up": false, "uv": true])).result) == 0)
        #expect(flags(bench.answer(client.assertion()).result) == 0x05)
    }

    @Test("FD-56: what does not fit the token asks nobody, and signs nothing") func hostile() throws {
        var bench = Bench()
        let id = bench.made()
        var (maker, reader) = (TokenClient(), TokenClient(.one))
        #expect(try maker.get(1, &bench) == 0)
        #expect(bench.answer(maker.assertion(allowed: [id])).status == 0x33, "another permission")
        #expect(bench.answer(maker.make("other.example")).status == 0x33, "another site")
        #expect(bench.answer(maker.make(), channel: 2).status == 0x33, "another channel")
        var wrong = maker.code()
        wrong[31] ^= 1
        for code in [wrong, Array(wrong.prefix(16)), maker.code() + [0], maker.code([1]), [0]] {
            #expect(bench.answer(Requests.make(pin: code, version: 2)).status == 0x33, "another code")
        }
        #expect(bench.answer(Requests.make(pin: Array(maker.code().prefix(16)), version: 1)).status == 0x33)
        _ = bench.wishes()
        // A new token is the only one.
        #expect(try reader.get(2, &bench, channel: 2) == 0)
        #expect(bench.answer(maker.make()).status == 0x33, "an older token")
        #expect(bench.answer(reader.assertion(allowed: [id]), channel: 2).status == 0)
        #expect(bench.wishes().count == 1)
        #expect(bench.device.state.withLock { $0.signatures } == 2)
        // As many wrong ones as somebody likes do not end it.
        #expect(try maker.get(1, &bench) == 0)
        for _ in 0..<1000 {
            #expect(bench.answer(Requests.make(pin: [1, 2, 3], version: 2)).status == 0x33)
            bench.now -= 1
        }
        #expect(bench.answer(maker.make()).status == 0)
    }

    @Test("FD-56: it is over after 30 seconds without a use, and 600 in all") func time() throws {
        var bench = Bench()
        let id = bench.made()
        var client = TokenClient()
        #expect(try client.get(1, &bench) == 0)
        bench.now += 28.5
        // Bench's clock goes on by a second with each request.
        #expect(bench.answer(client.make(options: [:])).status == 0)
        #expect(try client.get(1, &bench) == 0)
        bench.now += 29
        #expect(bench.answer(client.make(options: [:])).status == 0x33)
        #expect(bench.device.state.withLock { !$0.isHeld }, "and so is the proof")
        // In use it lives on, and what is signed after 30 seconds asks the owner anew.
        #expect(try client.get(2, &bench) == 0)
        _ = bench.wishes()
        #expect(bench.answer(client.assertion(allowed: [id], options: ["up": false])).status == 0)
        bench.now += 500
        #expect(bench.answer(client.assertion(allowed: [id])).status == 0)
        #expect(bench.wishes() == [.signIn(site: "example.com", accounts: ["ada"])])
        #expect(try client.get(2, &bench) == 0)
        #expect(bench.answer(client.assertion(allowed: [id], options: ["up": false])).status == 0)
        bench.now += 599
        #expect(bench.answer(client.assertion(allowed: [id])).status == 0x33)
    }

    @Test("FD-56: a request of anybody's that has its own prompt ends it") func ended() throws {
        var bench = Bench()
        var client = TokenClient()
        #expect(try client.get(1, &bench) == 0)
        #expect(bench.answer(Requests.make(site: "other.example"), channel: 2).status == 0)
        #expect(bench.device.state.withLock { !$0.isHeld })
        #expect(bench.answer(client.make()).status == 0x33)
    }

    @Test("FD-56: where the enclave ends the proof, nothing is signed") func lost() throws {
        var bench = Bench()
        var client = TokenClient()
        #expect(try client.get(1, &bench) == 0)
        bench.device.state.withLock { $0.isHeld = false }
        #expect(bench.answer(client.make()).status == 0x33)
        #expect(bench.device.state.withLock { $0.credentials.isEmpty })
    }

    @Test(
        "FD-42, FD-55: no token without the owner",
        arguments: [CTAPStatus.operationDenied, .userActionTimeout, .uvInvalid, .keepAliveCancel, .other])
    func refused(_ refusal: CTAPStatus) throws {
        var bench = Bench()
        var client = TokenClient()
        bench.device.state.withLock { $0.refusal = refusal }
        #expect(try client.get(3, &bench) == refusal.rawValue)
        #expect(bench.wishes().count == 1)
        #expect(bench.device.state.withLock { !$0.isHeld })
        #expect(bench.answer(client.make()).status == 0x33)
    }

    @Test("FD-55: what cannot be asks nobody") func impossible() throws {
        var bench = Bench()
        var client = TokenClient()
        let wrongPoint = COSEKey.key([4] + [UInt8](repeating: 1, count: 64), algorithm: -25)
        for (request, status) in [
            (client.request(1, without: 1), 0x14), (client.request(1, without: 3), 0x14), (client.request(nil), 0x14),
            (client.request(1, version: 3), 0x02), (client.request(0), 0x02), (client.request(-1), 0x02),
            (client.request(1, share: wrongPoint), 0x02), (client.request(1, share: .text("")), 0x11),
            (client.request(1, site: nil), 0x14), (client.request(2, site: nil), 0x14),
            (client.request(6, site: nil), 0x14), (client.request(1, site: ""), 0x03),
            // Fingers, large blobs, settings, and a token that lasts.
            (client.request(0x08), 0x40), (client.request(0x11), 0x40), (client.request(0x20), 0x40),
            (client.request(0x40), 0x40), (client.request(0x80), 0x02),
        ] as [([UInt8], UInt8)] {
            #expect(bench.answer(request).status == status, "\(request)")
        }
        #expect(bench.wishes() == [])
        // Unknown bits are ignored beside others.
        #expect(try client.get(0x81, &bench) == 0)
    }

    @Test("FD-55: how often the owner may miss, and nobody who can be verified") func retries() throws {
        var bench = Bench()
        var client = TokenClient()
        #expect(bench.answer([6, 0xA1, 2, 7]).result == [CBOR(5): CBOR(25)])
        bench.device.state.withLock { $0.canVerify = false }
        #expect(bench.answer([6, 0xA1, 2, 7]).result == [CBOR(5): CBOR(0)])
        #expect(try client.get(1, &bench) == 0x3C)
        #expect(bench.wishes() == [])
    }
}
