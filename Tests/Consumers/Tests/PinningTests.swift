import Foundation
import Security
import Testing

/// What iOS apps do with the trust of a server.
@Suite struct PinningTests {
    private struct Chain: Decodable {
        var title: String
        var certificates: [Data]
        var anchors: [Data]
        var date: Double
    }

    private let host = "www.example.org"

    private func chain(_ title: String) throws -> Chain {
        let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("TouchstoneTrustTests/Fixtures/chains.json")
        return try #require(
            try JSONDecoder().decode([Chain].self, from: Data(contentsOf: url)).first { $0.title == title })
    }

    private func evaluator(_ mode: PinningMode, _ chain: Chain) -> ServerTrustEvaluator {
        let evaluator = ServerTrustEvaluator(mode)
        evaluator.date = Date(timeIntervalSince1970: chain.date)
        return evaluator
    }

    @Test("TR-2: anchors of the app's own trust their servers, and nobody else's") func anchors() throws {
        let good = try chain("a host that is named")
        let trust = try #require(ServerTrustEvaluator.trust(good.certificates))
        #expect(evaluator(.anchors(good.anchors), good).isTrusted(trust, forHost: host))
        #expect(!evaluator(.anchors(good.anchors), good).isTrusted(trust, forHost: "example.net"))
        #expect(
            !evaluator(.anchors([try chain("a certificate that signed itself").certificates[0]]), good).isTrusted(
                trust, forHost: host))
    }

    @Test("TR-2: a pinned certificate trusts itself, self-signed or not") func certificates() throws {
        for title in ["the anchor is the server's certificate", "a certificate that signed itself, and is the anchor"] {
            let pinned = try chain(title)
            let trust = try #require(ServerTrustEvaluator.trust(pinned.certificates))
            #expect(evaluator(.certificates(pinned.anchors), pinned).isTrusted(trust, forHost: host))
            let other = try #require(ServerTrustEvaluator.trust(try chain("a host that is named").certificates))
            #expect(!evaluator(.certificates(pinned.anchors), pinned).isTrusted(other, forHost: host))
        }
    }

    @Test("The hash of a public key is that of the certificate, and pins only what is trusted") func publicKeys() throws
    {
        let good = try chain("a host that is named")
        let trust = try #require(ServerTrustEvaluator.trust(good.certificates))
        SecTrustSetAnchorCertificates(
            trust, good.anchors.map { SecCertificateCreateWithData(nil, $0 as CFData)! } as CFArray)
        SecTrustSetVerifyDate(trust, Date(timeIntervalSince1970: good.date) as CFDate)
        let hashes = ServerTrustEvaluator.publicKeyHashes(trust)
        #expect(hashes.count == 3)
        #expect(hashes.first == ServerTrustEvaluator.publicKeyHash(trust))
        let middle = evaluator(.publicKeyHashes([hashes[1]]), good)
        #expect(middle.isTrusted(trust, forHost: host))
        #expect(!evaluator(.publicKeyHashes(["x"]), good).isTrusted(trust, forHost: host))
        // A key that is pinned, in a chain that the machine does not trust.
        let bare = try #require(ServerTrustEvaluator.trust(good.certificates))
        #expect(!middle.isTrusted(bare, forHost: host))
    }

    @Test("TR-9: what the owner accepted once is accepted again") func exceptions() throws {
        let own = try chain("a certificate that signed itself")
        let evaluator = ServerTrustEvaluator(.anchors([]))
        let trust = try #require(ServerTrustEvaluator.trust(own.certificates))
        SecTrustSetVerifyDate(trust, Date(timeIntervalSince1970: own.date) as CFDate)
        let cookie = try #require(evaluator.accept(trust, with: nil))
        let later = try #require(ServerTrustEvaluator.trust(own.certificates))
        SecTrustSetVerifyDate(later, Date(timeIntervalSince1970: own.date) as CFDate)
        #expect(evaluator.accept(later, with: cookie) == cookie)
        #expect(SecTrustEvaluateWithError(later, nil))
    }

    @Test("The answer of another thread comes with the reason") func later() async throws {
        let good = try chain("a host that is named")
        let trust = try #require(ServerTrustEvaluator.trust(good.certificates))
        let code = await withCheckedContinuation { continuation in
            ServerTrustEvaluator(.anchors([])).evaluate(trust) { isTrusted, error in
                continuation.resume(returning: isTrusted ? 0 : (error as NSError?)?.code)
            }
        }
        #expect(code == Int(errSecCreateChainFailed))
    }
}
