import Foundation
import Testing
import TouchstoneTrust

/// Chains that want to take time or memory, or to break the reader.
@Suite struct HostileChainTests {
    private let chain = Result { try Chain.named("a host that is named") }

    @Test("TR-11: what is no certificate is malformed, as the first, and disregarded elsewhere") func noCertificate()
        throws
    {
        var evaluation = try chain.get().evaluation
        let whole = evaluation.certificates
        let junk = [Data(), Data([0x30]), Data(repeating: 0xff, count: 1000), whole[0] + [0], whole[0].dropLast()]
        for bytes in junk.map({ Data($0) }) {
            evaluation.certificates = [bytes] + whole
            #expect(try evaluation.answer().failures == [TrustFailure(.malformed, at: 0)])
        }
        evaluation.certificates = [whole[0]] + junk + whole.dropFirst()
        #expect(try evaluation.answer().isTrusted)
        evaluation.certificates = []
        #expect(throws: TrustError.nothingToVerify) { try evaluation.answer() }
    }

    @Test("TR-11: each byte of a certificate may be another, and the chain is then never trusted") func changedBytes()
        throws
    {
        let evaluation = try chain.get().evaluation
        let leaf = evaluation.certificates[0]
        for index in leaf.indices {
            var changed = evaluation
            changed.certificates[0][index] ^= 0x55
            // libcrypto may also give up, which is no trust either.
            #expect((try? changed.answer())?.isTrusted != true, "byte \(index)")
        }
    }

    @Test("TR-11: no more than 64 certificates are looked at") func count() throws {
        var evaluation = try chain.get().evaluation
        let stranger = try Chain.named("a certificate that signed itself").certificates[0]
        let middle = evaluation.certificates[1]
        evaluation.certificates.insert(contentsOf: repeatElement(stranger, count: 62), at: 1)
        #expect(try evaluation.answer().isTrusted)
        evaluation.certificates.insert(stranger, at: 1)
        #expect(evaluation.certificates.last == middle)
        #expect(try evaluation.answer().failures == [TrustFailure(.missingIssuer, at: 0)])
    }

    @Test("TR-11: the most that is looked at takes a bounded time", .timeLimit(.minutes(10))) func time() throws {
        // Every link of the long chains, loops and all, for a certificate that none of them leads from.
        let everything = Array(Set(Chain.all.flatMap(\.certificates)))
        for title in ["a loop", "18 intermediates", "a certificate that signed itself"] {
            let chain = try Chain.named(title)
            var evaluation = chain.evaluation
            evaluation.certificates += everything
            evaluation.anchors = Array(repeating: chain.anchors[0], count: 2000)
            #expect(try !evaluation.answer().isTrusted)
        }
    }
}
