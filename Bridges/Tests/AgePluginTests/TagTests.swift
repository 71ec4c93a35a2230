import Crypto
import Foundation
import Testing

@testable import AgePlugin

@Suite struct TagTests {
    /// RFC 9180, A.5: DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, base mode.
    @Test("AG-3: RFC 9180's vector of the schedule")
    func schedule() throws {
        let secret = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: Data(
                hexadecimal: "a4d1c55836aa30f9b3fbb6ac98d338c877c2867dd3a77396d13f68d3ab150d3b"))
        let share = Data(
            hexadecimal: "04c07836a0206e04e31d8ae99bfd549380b072a1b1b82e563c935c095827824fc1"
                + "559eac6fb9e3c70cd3193968994e7fe9781aa103f5b50e934b5b2f387e381291")
        let agreed = try secret.sharedSecretFromKeyAgreement(with: .init(x963Representation: share))
        let (key, nonce) =
            BaseSchedule(
                agreed: agreed.withUnsafeBytes { Data($0) }, share: share,
                recipient: secret.publicKey.x963Representation,
                info: Data(hexadecimal: "4f6465206f6e2061204772656369616e2055726e")
            ).values
        #expect(
            key.withUnsafeBytes { Data($0) }
                == Data(hexadecimal: "a8f45490a92a3b04d1dbf6cf2c3939ad8bfc9bfcb97c04bffe116730c9dfe3fc"))
        #expect(nonce == Data(hexadecimal: "726b4390ed2209809f58c693"))
    }

    /// C2SP's `age.md` has this recipient as its example.
    @Test("AG-3: C2SP's recipient, under both names")
    func recipient() throws {
        let text = "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2yqdj4e"
        let recipient = try #require(TagRecipient(text))
        #expect(recipient.native == text)
        #expect(recipient.description.hasPrefix("age1touchstone1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2"))
        #expect(TagRecipient(recipient.description) == recipient)
        #expect(TagRecipient(point: recipient.point) == recipient)
    }

    @Test("AG-3: other names, lengths and points are no recipient")
    func refused() {
        let key = Array(SampleKey().recipient.compressed)
        for (prefix, bytes) in [
            ("age", key), ("age1tagpq", key), ("age1touchstonE", key), ("AGE1TOUCHSTONE", key),
            ("age1touchstone", key + [0]), ("age1touchstone", Array(key.dropLast())), ("age1touchstone", []),
            // No point has this x; and the point at infinity.
            ("age1touchstone", [2] + Array(repeating: 0xFF, count: 32)), ("age1touchstone", [0]),
            ("age1touchstone", [5] + key.dropFirst()),
        ] { #expect(TagRecipient(Bech32.encode(prefix, bytes)) == nil, "\(prefix) \(bytes.count)") }
    }

    @Test("AG-3, AG-4: what swift-crypto seals, the enclave's half opens; nobody else's does")
    func roundTrip() throws {
        let (mine, other) = (SampleKey(), SampleKey())
        let fileKey = (0..<16).map { UInt8($0) }
        let stanza = try #require(mine.recipient.wrap(fileKey))
        let tagged = try #require(try TagStanza(stanza))
        #expect(tagged.isFor(mine.recipient))
        #expect(!tagged.isFor(other.recipient))
        #expect(tagged.open(agreed: try mine.agree(tagged.share), mine.recipient) == fileKey)
        #expect(tagged.open(agreed: try other.agree(tagged.share), mine.recipient) == nil)
        #expect(tagged.open(agreed: try mine.agree(tagged.share), other.recipient) == nil)
        for place in stanza.body.indices {
            var changed = stanza
            changed.body[place] ^= 1
            let found = try #require(try TagStanza(changed))
            #expect(found.open(agreed: try mine.agree(found.share), mine.recipient) == nil)
        }
        #expect(mine.recipient.wrap(fileKey + [0]) == nil)
    }

    @Test("AG-3: a stanza of this name is as it has to be, or an error; another name is ignored")
    func malformed() throws {
        let good = try #require(SampleKey().recipient.wrap([UInt8](repeating: 7, count: 16)))
        #expect(try TagStanza(good) != nil)
        let (tag, share) = (good.arguments[1], good.arguments[2])
        #expect(try TagStanza(Stanza(["P256TAG", tag, share], body: good.body)) == nil)
        #expect(try TagStanza(Stanza(["X25519"], body: [])) == nil)
        for (arguments, body) in [
            (["p256tag"], good.body), (["p256tag", tag], good.body), (["p256tag", tag, share, "more"], good.body),
            (["p256tag", tag, share], Array(good.body.dropLast())), (["p256tag", tag, share], good.body + [0]),
            (["p256tag", tag + "==", share], good.body), (["p256tag", String(tag.dropLast()), share], good.body),
            (["p256tag", tag + "AA", share], good.body), (["p256tag", tag, String(share.dropLast())], good.body),
            // Not on the curve, and compressed.
            (["p256tag", tag, UnpaddedBase64.encode([4] + Array(repeating: 1, count: 64))], good.body),
            (["p256tag", tag, UnpaddedBase64.encode(SampleKey().recipient.compressed)], good.body),
        ] {
            #expect(throws: StanzaError.malformed, "\(arguments)") {
                try TagStanza(Stanza(arguments, body: body))
            }
        }
    }

    @Test("AG-5: an identity is read as it was written, and no other")
    func identity() throws {
        let identity = SampleKey().identity
        let text = identity.description
        #expect(text.hasPrefix("AGE-PLUGIN-TOUCHSTONE-1"))
        #expect(PluginIdentity(text) == identity)
        #expect(PluginIdentity(text.lowercased()) == nil)
        #expect(PluginIdentity(String(text.dropLast())) == nil)
        let parts = [UInt8](identity.recipient.compressed) + [UInt8](identity.key)
        for (prefix, bytes) in [
            ("AGE-PLUGIN-TOUCHSTONE-", [2] + parts), ("AGE-PLUGIN-SE-", [1] + parts),
            ("AGE-PLUGIN-TOUCHSTONE-", [1] + Array(identity.recipient.compressed)), ("AGE-PLUGIN-TOUCHSTONE-", []),
            ("AGE-PLUGIN-TOUCHSTONE-", [1, 9] + parts.dropFirst()),
        ] { #expect(PluginIdentity(Bech32.encode(prefix, bytes)) == nil) }
    }
}
