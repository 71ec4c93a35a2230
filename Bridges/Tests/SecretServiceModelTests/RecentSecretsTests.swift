import Foundation
import Testing

@testable import SecretServiceModel

struct RecentSecretsTests {
    private func sealed(_ count: Int, hasCopy: Bool = false) throws -> SealedSecret {
        let sealer = try #require(OwnerKey.Sealer(for: OwnerKey().publicKey))
        return try #require(
            SealedSecret(
                Data(count: count), SymmetricKeyBytes(), item: "a",
                for: sealer, hasCopy: hasCopy))
    }

    @Test("SS-21: a sealed secret that was noted is found until it is forgotten, without a copy of its key")
    func aSecretIsFoundUntilItIsForgotten() throws {
        var recent = RecentSecrets()
        let last = try sealed(1, hasCopy: true)
        recent.put(try sealed(1), of: "a")
        recent.put(last, of: "a")
        #expect(recent["a"]?.kept == last.withoutCopy.kept)
        #expect(recent["b"] == nil)
        recent.remove("a")
        recent.remove("a")
        #expect(recent["a"] == nil)
    }

    @Test("SS-21: there are never more bytes than the limit, and the newest stays")
    func theyHaveALimit() throws {
        var recent = RecentSecrets()
        let half = try sealed(RecentSecrets.most / 2 - 154)
        #expect(half.count == RecentSecrets.most / 2)
        for name in ["a", "b"] { recent.put(half, of: name) }
        #expect(recent["a"] != nil)
        recent.put(try sealed(1), of: "c")
        #expect(recent["a"] == nil)
        #expect(recent["b"] == nil)
        #expect(recent["c"] != nil)
        recent.put(try sealed(RecentSecrets.most), of: "d")
        #expect(recent["d"] == nil)
        #expect(recent["c"] != nil)
    }
}
