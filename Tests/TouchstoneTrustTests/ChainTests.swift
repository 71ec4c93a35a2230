import Foundation
import Testing
import TouchstoneTrust

/// Chains with one fault each, and their twins without it.
@Suite struct ChainTests {
    @Test("TR-1, TR-3…TR-6: each chain fails by the rule that it breaks, and its twin is trusted", arguments: Chain.all)
    func faults(_ chain: Chain) throws {
        let answer = try chain.evaluation.answer()
        #expect(answer.failures.map { "\($0.index) \($0.rule)" } == chain.failures.map { "\($0.index) \($0.rule)" })
        #expect(answer.isTrusted == chain.failures.isEmpty)
        #expect(answer.chain.first == chain.certificates.first)
    }

    @Test("The file has every rule that chains can break") func everyRule() {
        #expect(Chain.all.count > 70)
        let broken = Set(Chain.all.flatMap(\.failures).map(\.rule))
        // Those of responses, and of bytes that are no certificate, have tests of their own.
        let elsewhere: Set<TrustRule> = [.malformed, .revoked, .revocationUnknown]
        #expect(broken == Set(TrustRule.allCases).subtracting(elsewhere))
    }

    @Test("TR-2: without the anchor nothing is trusted, whatever the chain") func noAnchor() throws {
        for chain in Chain.all {
            var evaluation = chain.evaluation
            evaluation.anchors = []
            #expect(!(try evaluation.answer().isTrusted), "\(chain.title)")
        }
    }

    @Test("TR-2: an anchor ends the chain, and who issued it does not count") func anchorEnds() throws {
        let chain = try Chain.named("the anchor is the server's certificate")
        let answer = try chain.evaluation.answer()
        #expect(answer.chain == [chain.certificates[0]])
        let middle = try Chain.named("the anchor is the intermediate").evaluation.answer()
        #expect(middle.chain.count == 2 && middle.isTrusted)
    }

    @Test("TR-4: all policies have to be met") func allPolicies() throws {
        var evaluation = try Chain.named("a host that is named").evaluation
        evaluation.policies.append(TrustPolicy(.basic))
        #expect(try evaluation.answer().isTrusted)
        evaluation.policies.append(TrustPolicy(.tlsClient))
        #expect(try evaluation.answer().failures == [TrustFailure(.extendedKeyUsage, at: 0)])
    }

    @Test("TR-4: one of several names is enough, and of EAP and IPsec names are looked for, too") func names() throws {
        let chain = try Chain.named("a host that is named")
        for purpose in [TrustPolicy.Purpose.tlsServer, .eap(isServer: true), .ipSecurity] {
            var evaluation = chain.evaluation
            evaluation.policies = [TrustPolicy(purpose, names: ["example.net", chain.name])]
            #expect(try evaluation.answer().isTrusted)
            evaluation.policies = [TrustPolicy(purpose, names: ["example.net"])]
            #expect(try evaluation.answer().failures == [TrustFailure(.hostName, at: 0)])
        }
    }

    @Test("TR-4: a name with a NUL or an empty label, an empty one and one that is too long are nobody's")
    func strangeNames() throws {
        let chain = try Chain.named("a host that is named")
        for name in [
            chain.name + "\0", "\0", ".", "", "..", ".\(chain.name)", "www..example.org", " \(chain.name)",
            String(repeating: "a", count: 300),
        ] {
            var evaluation = chain.evaluation
            evaluation.policies = [TrustPolicy(.tlsServer, names: [name])]
            #expect(try evaluation.answer().failures == [TrustFailure(.hostName, at: 0)])
        }
    }

    @Test("TR-4: time stamps need their usage") func timeStamps() throws {
        var evaluation = try Chain.named("a host that is named").evaluation
        evaluation.policies = [TrustPolicy(.timeStamping)]
        #expect(try evaluation.answer().failures == [TrustFailure(.extendedKeyUsage, at: 0)])
    }
}
