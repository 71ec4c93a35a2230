import Foundation
import Testing

@testable import SecretServiceModel

struct RecentSecretsTests {
    @Test("SS-21: a sealed secret that was noted is found until it is forgotten")
    func aSecretIsFoundUntilItIsForgotten() {
        var recent = RecentSecrets()
        recent.put(Data("one".utf8), of: "a")
        recent.put(Data("two".utf8), of: "a")
        #expect(recent["a"] == Data("two".utf8))
        #expect(recent["b"] == nil)
        recent.remove("a")
        recent.remove("a")
        #expect(recent["a"] == nil)
    }

    @Test("SS-21: there are never more bytes than the limit, and the newest stays")
    func theyHaveALimit() {
        var recent = RecentSecrets()
        let half = Data(count: RecentSecrets.most / 2)
        for name in ["a", "b"] { recent.put(half, of: name) }
        #expect(recent["a"] == half)
        recent.put(Data([1]), of: "c")
        #expect(recent["a"] == nil)
        #expect(recent["b"] == nil)
        #expect(recent["c"] == Data([1]))
        recent.put(Data(count: RecentSecrets.most + 1), of: "d")
        #expect(recent["d"] == nil)
        #expect(recent["c"] == Data([1]))
    }
}
