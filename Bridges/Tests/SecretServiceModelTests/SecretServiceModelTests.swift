import Foundation
import SecretServiceModel
import Testing

@Suite struct SecretServiceModelTests {
    @Test("SS-1: paths of each kind, and none that is malformed")
    func paths() {
        let root = "/org/freedesktop/secrets"
        for text in [
            "", "/collection/login", "/collection/login/x1", "/aliases/default", "/aliases/default/x", "/session/s1",
            "/prompt/p1",
        ] {
            #expect(SecretPath(root + text)?.text == root + text)
        }
        for text in [
            "/", "/collection", "/collection/", "/collection/a/", "/collection/a/b/c", "/session/a/b", "/other/a",
            "/collection/a-b", "/collection/ä", "x", "/collection/" + String(repeating: "a", count: 300),
        ] {
            #expect(SecretPath(root + text) == nil, "\(text)")
        }
        #expect(SecretPath("/org/freedesktop") == nil)
        #expect(SecretPath.newName().count == 26 && SecretPath.isElement(SecretPath.newName()))
    }

    @Test("SS-11: two sides agree, also where one leaves out the zeros in front")
    func agreement() throws {
        for _ in 0..<20 {
            let (a, b) = (SessionCipher.newExponent(), SessionCipher.newExponent())
            let publicA = try SessionCipher.agree(with: [3], exponent: a).publicValue
            let publicB = try SessionCipher.agree(with: [3], exponent: b).publicValue
            #expect(publicA.count == 128)
            let one = try SessionCipher.agree(with: publicB, exponent: a).cipher
            let other = try SessionCipher.agree(with: Array(publicA.drop { $0 == 0 }), exponent: b).cipher
            let sealed = try #require(one.seal(Data("a secret".utf8)))
            #expect(sealed.parameters.count == 16 && sealed.value.count == 16)
            #expect(try other.open(parameters: sealed.parameters, value: sealed.value) == Data("a secret".utf8))
        }
    }

    /// Made with Python's numbers and openssl: the shared number begins with two zero bytes.
    @Test("SS-11: the key is made of all 128 bytes of the shared number, also of zeros in front")
    func zerosInFront() throws {
        let exponent = Self.bytes("9e2feb89414c343c1027c4d1c386bbc4cd613e30d8f16adf91b7584a2265b1f5")
        let theirs = Self.bytes(
            """
            5912c8819e519c1b14e3b9c28ab470af91b35ae6e6fb20967232c1597bd3193b20b72caae41f7408bab7a62c430da89d044b80a30270632a\
            1dab26469aa3515984cb70191fba4d9de2fa4e46544ef8175aab4c2e783696d71cd4baf60d8dd199e967529c09bdcae3fbaf893a744b726c\
            82d57f75141a374647c9d63091f49d78
            """)
        let agreed = try SessionCipher.agree(with: theirs, exponent: exponent)
        #expect(Array(agreed.publicValue.prefix(8)) == Self.bytes("bbc01315fddb4e35"))
        let sealed = Self.bytes("f80d7d4efbedbb08e82a573f2cc46aab")
        #expect(try agreed.cipher.open(parameters: Array(0..<16), value: sealed) == Data("a secret".utf8))
    }

    @Test("SS-11: a public value that decides the key alone is refused")
    func weakValues() throws {
        let prime: [UInt8] = Self.prime
        var last = prime
        last[127] -= 1
        for value in [[], [0], [1], [0, 0, 1], last, prime, [1] + prime, [UInt8](repeating: 255, count: 128)] {
            #expect(throws: SessionCipher.Failure.malformed) {
                try SessionCipher.agree(with: value, exponent: SessionCipher.newExponent())
            }
        }
        var allowed = prime
        allowed[127] -= 2
        _ = try SessionCipher.agree(with: allowed, exponent: SessionCipher.newExponent())
        _ = try SessionCipher.agree(with: [2], exponent: SessionCipher.newExponent())
    }

    @Test("SS-3, SS-11: what is no secret of the session is refused")
    func malformedSecrets() throws {
        let cipher = try SessionCipher.agree(with: [2], exponent: SessionCipher.newExponent()).cipher
        let sealed = try #require(cipher.seal(Data()))
        #expect(try cipher.open(parameters: sealed.parameters, value: sealed.value).isEmpty)
        for (parameters, value) in [
            ([], sealed.value), (sealed.parameters, []), (sealed.parameters, Array(sealed.value.dropLast())),
            (Array(sealed.parameters.dropLast()), sealed.value),
        ] {
            #expect(throws: SessionCipher.Failure.malformed) { try cipher.open(parameters: parameters, value: value) }
        }
        #expect(try SessionCipher.plain.open(parameters: [], value: [1, 2]) == Data([1, 2]))
    }

    @Test("SS-20: a sealed secret opens with its key and as its item only")
    func sealing() throws {
        let (key, owner) = (SymmetricKeyBytes(), OwnerKey())
        let sealer = try #require(OwnerKey.Sealer(for: owner.publicKey))
        let made = try #require(SealedSecret(Data("x".utf8), key, item: "one", for: sealer, hasCopy: true))
        let sealed = try #require(SealedSecret(made.kept))
        #expect(sealed.kept == made.kept)
        #expect(sealed.open(key, item: "one") == Data("x".utf8))
        #expect(sealed.open(key, item: "two") == nil)
        #expect(sealed.open(SymmetricKeyBytes(), item: "one") == nil)
        #expect(try #require(SealedSecret(made.kept.dropLast())).open(key, item: "one") == nil)
        #expect(SymmetricKeyBytes(Data(count: 31)) == nil)
    }

    @Test("SS-20: the owner's key opens the key of each item, as that item's only; another one opens none")
    func ownerKeys() throws {
        let (key, owner) = (SymmetricKeyBytes(), OwnerKey())
        let sealer = try #require(OwnerKey.Sealer(for: owner.publicKey))
        let sealed = try #require(SealedSecret(Data(), key, item: "one", for: sealer, hasCopy: false))
        #expect(sealed.owner == OwnerKey.Public(name: owner.publicKey.name))
        let kept = try #require(OwnerKey(owner.bytes))
        #expect(sealed.key(kept, item: "one")?.bytes == key.bytes)
        #expect(sealed.key(kept, item: "two") == nil)
        #expect(sealed.key(OwnerKey(), item: "one") == nil)
        #expect(OwnerKey(Data(count: 31)) == nil)
        #expect(OwnerKey.Public(name: "x") == nil)
        #expect(OwnerKey.Public(name: Data(count: 31).base64EncodedString()) == nil)
    }

    @Test("SS-20: one sealer serves many items, and what it sealed for one opens as no other")
    func sealers() throws {
        let owner = OwnerKey()
        let sealer = try #require(OwnerKey.Sealer(for: owner.publicKey))
        let keys = ["one": SymmetricKeyBytes(), "two": SymmetricKeyBytes()]
        let rows = try keys.mapValues { key in
            try #require(SealedSecret(Data(), key, item: "any", for: sealer, hasCopy: false)).kept
        }
        #expect(rows["one"]?[..<66] == rows["two"]?[..<66])
        for (item, key) in keys {
            let sealed = try #require(SealedSecret(Data([1]), key, item: item, for: sealer, hasCopy: false))
            #expect(sealed.key(owner, item: item)?.bytes == key.bytes)
            #expect(sealed.key(owner, item: item == "one" ? "two" : "one") == nil)
        }
        // The next unlocked period has another.
        let next = try #require(OwnerKey.Sealer(for: owner.publicKey))
        let key = try #require(keys["one"])
        let sealed = try #require(SealedSecret(Data(), key, item: "one", for: next, hasCopy: false))
        #expect(sealed.kept[34..<66] != rows["one"]?[34..<66])
        #expect(sealed.key(owner, item: "one")?.bytes == key.bytes)
    }

    @Test("SS-20, BR-33: a row has the copy of its key only while its program is granted it")
    func copies() throws {
        let key = SymmetricKeyBytes()
        let sealer = try #require(OwnerKey.Sealer(for: OwnerKey().publicKey))
        let sealed = try #require(SealedSecret(Data([1]), key, item: "one", for: sealer, hasCopy: true))
        #expect(sealed.copy?.bytes == key.bytes)
        #expect(sealed.kept.range(of: key.bytes) != nil)
        let revoked = try #require(SealedSecret(sealed.withoutCopy.kept))
        #expect(revoked.copy == nil)
        #expect(revoked.kept.range(of: key.bytes) == nil)
        #expect(revoked.open(key, item: "one") == Data([1]))
        let other = try #require(SealedSecret(Data([1]), key, item: "one", for: sealer, hasCopy: false))
        #expect(other.copy == nil)
    }

    @Test("SS-20: a row that is cut off, or of another version, is refused")
    func malformedRows() throws {
        let sealer = try #require(OwnerKey.Sealer(for: OwnerKey().publicKey))
        let sealed = try #require(SealedSecret(Data(), SymmetricKeyBytes(), item: "one", for: sealer, hasCopy: true))
        // All of it but the sealed secret, which has its own tag.
        for count in 0..<(2 + 32 + 32 + 60 + 32) { #expect(SealedSecret(sealed.kept.prefix(count)) == nil) }
        var other = sealed.kept
        other[0] = 1
        #expect(SealedSecret(other) == nil)
        other = sealed.kept
        other[1] = 31
        #expect(SealedSecret(other) == nil)
        // A part of a larger buffer does not begin at 0.
        #expect(SealedSecret((Data([0]) + sealed.kept).dropFirst())?.kept == sealed.kept)
    }

    @Test("SS-21: each attribute that is named has to be there; the newest comes first")
    func searching() {
        var index = ItemIndex()
        index.put("a", in: "login", ["user": "x", "host": "h"])
        index.put("b", in: "login", ["user": "x"])
        index.put("c", in: "other", ["user": "x", "host": "h"])
        #expect(index.search(["user": "x"]) == ["c", "b", "a"])
        #expect(index.search(["user": "x", "host": "h"]) == ["c", "a"])
        #expect(index.search(["user": "x", "host": "h"], in: "login") == ["a"])
        #expect(index.search(["host": "x"]) == [])
        #expect(index.search(["user": "x", "no": ""]) == [])
        #expect(index.search([:]) == ["c", "b", "a"])
        // A name and a value are not one text.
        #expect(index.search(["userx": ""]) == [])
        index.remove("c")
        #expect(index.search(["host": "h"]) == ["a"])
        index.put("a", in: "login", ["user": "y"])
        #expect(index.search(["host": "h"]) == [])
        #expect(index.count == 2)
    }

    @Test("SS-22: only an item with exactly the same attributes is replaced")
    func replacing() {
        var index = ItemIndex()
        index.put("a", in: "login", ["user": "x", "host": "h"])
        #expect(index.exactly(index.digested(["user": "x", "host": "h"]), in: "login") == "a")
        #expect(index.exactly(index.digested(["user": "x"]), in: "login") == nil)
        #expect(index.exactly(index.digested(["user": "x", "host": "h"]), in: "other") == nil)
        #expect(index.exactly(index.digested([:]), in: "login") == nil)
    }

    @Test("SS-20, SS-22: what is kept of an item is read again; what is beyond the limits is not")
    func descriptions() {
        let description = ItemDescription(
            collection: "login", attributes: ["ü": "\u{0}\"", "xdg:schema": "a.b"], contentType: "text/plain",
            maker: nil)
        #expect(ItemDescription(description.kept) == description)
        #expect(description.type == "a.b")
        #expect(ItemDescription(Data("{}".utf8)) == nil)
        #expect(ItemDescription(Data()) == nil)
        var other = description
        other.collection = "../x"
        #expect(ItemDescription(other.kept) == nil)
        #expect(ItemDescription.allows(["a": String(repeating: "x", count: 1024)]))
        #expect(!ItemDescription.allows(["a": String(repeating: "x", count: 1025)]))
        #expect(!ItemDescription.allows(Dictionary(uniqueKeysWithValues: (0..<65).map { ("\($0)", "") })))
        #expect(
            !ItemDescription.allows(
                Dictionary(uniqueKeysWithValues: (0..<17).map { ("\($0)", String(repeating: "x", count: 1000)) })))
    }

    private static let prime: [UInt8] = {
        let text = """
            FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B\
            302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6\
            49286651ECE65381FFFFFFFFFFFFFFFF
            """
        return bytes(text)
    }()

    private static func bytes(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
