import Crypto
import CryptoExtras
import Foundation
import Testing
import TouchstoneCBOR

@testable import CTAP

/// The extension hmac-secret, with a client that does its half as the standard says (FD-15).
@Suite struct SecretTests {
    private struct Client {
        let own = P256.KeyAgreement.PrivateKey()
        let keys: PINProtocol.Keys
        let version: PINProtocol

        init(_ version: PINProtocol, _ bench: inout Bench) throws {
            self.version = version
            let (status, result) = bench.answer([6, 0xA2, 1, UInt8(version.rawValue), 2, 2])
            #expect(status == 0)
            let point = try COSEKey.point(#require(result[CBOR(1)]))
            let other = try P256.KeyAgreement.PublicKey(x963Representation: point)
            keys = version.keys(try own.sharedSecretFromKeyAgreement(with: other))
        }

        func request(_ salts: [UInt8], spoilt: Bool = false) throws -> CBOR {
            let encrypted = try version.encrypt(salts, keys)
            var tag = Array(HMAC<SHA256>.authenticationCode(for: encrypted, using: keys.authentication)).prefix(
                version == .one ? 16 : 32)
            if spoilt { tag[0] ^= 1 }
            return .map([
                CBOR(1): COSEKey.key(Array(own.publicKey.x963Representation), algorithm: -25),
                CBOR(2): .bytes(encrypted),
                CBOR(3): .data(tag), CBOR(4): CBOR(version.rawValue),
            ])
        }

        func secret(_ result: [CBOR: CBOR]) throws -> [UInt8] {
            guard case .bytes(let data)? = result[CBOR(2)], data.count > 37, data[32] & 0x80 != 0,
                case .map(let extensions) = try CBOR(Array(data[37...])),
                case .bytes(let bytes)? = extensions[.text("hmac-secret")]
            else { return [] }
            return try version.decrypt(bytes, keys)
        }
    }

    @Test("FD-15: one secret for each salt, the same each time", arguments: [PINProtocol.one, .two]) func secrets(
        _ version: PINProtocol
    ) throws {
        var bench = Bench()
        #expect(
            bench.answer(Requests.make(options: ["rk": true], extensions: ["hmac-secret": .boolean(true)])).status == 0)
        let client = try Client(version, &bench)
        let (one, two) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        let both = bench.answer(Requests.get(extensions: ["hmac-secret": try client.request(one + two)]))
        #expect(both.status == 0)
        #expect(try bench.verifies(both.result, by: bench.key))
        let secrets = try client.secret(both.result)
        let key = try #require(bench.device.state.withLock { $0.secrets.first?.value })
        let expected = [one, two].flatMap {
            Array(HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: key)))
        }
        #expect(secrets == expected)
        let single = bench.answer(Requests.get(extensions: ["hmac-secret": try client.request(two)]))
        #expect(try client.secret(single.result) == Array(expected[32...]))
    }

    @Test(
        "FD-15: what was changed on its way, or is of another length, asks nobody", arguments: [PINProtocol.one, .two])
    func spoilt(_ version: PINProtocol) throws {
        var bench = Bench()
        _ = bench.answer(Requests.make(options: ["rk": true], extensions: ["hmac-secret": .boolean(true)]))
        _ = bench.wishes()
        let client = try Client(version, &bench)
        let salt = [UInt8](repeating: 1, count: 32)
        #expect(
            bench.answer(Requests.get(extensions: ["hmac-secret": try client.request(salt, spoilt: true)])).status
                == 0x33)
        #expect(
            bench.answer(Requests.get(extensions: ["hmac-secret": try client.request(salt + salt[..<16])])).status
                == 0x03)
        #expect(bench.wishes() == [])
    }

    @Test("FD-15: a passkey that was made without has none") func without() throws {
        var bench = Bench()
        _ = bench.made()
        let client = try Client(.two, &bench)
        let (status, result) = bench.answer(
            Requests.get(extensions: ["hmac-secret": try client.request([UInt8](repeating: 1, count: 32))]))
        #expect(status == 0)
        #expect(flags(result) == 0x05)
    }
}
