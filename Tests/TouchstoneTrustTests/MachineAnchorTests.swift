import Foundation
import Testing
import TouchstoneTrust

/// The anchors of this machine, and of directories that a test makes.
@Suite struct MachineAnchorTests {
    @Test("TR-2: the bundle of Debian is read, and each of its roots is trusted on a day of its validity")
    func bundle() throws {
        let roots = MachineAnchors.shared.allDER
        #expect(roots.count > 100)
        for root in roots {
            let evaluation = TrustEvaluation(
                certificates: [root], policies: [TrustPolicy(.basic)], date: Date(timeIntervalSince1970: 1_700_000_000))
            let answer = try evaluation.answer()
            #expect(answer.failures.allSatisfy { $0.rule == .validity }, "\(answer.failures)")
            #expect(answer.anchor != nil)
        }
    }

    @Test("TR-2, TR-5, TR-6: what the owner added is exempt from the rules for what came with the system")
    func owners() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("anchors-\(UUID())")
        let added = directory.appendingPathComponent("added")
        try FileManager.default.createDirectory(at: added, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let chain = try Chain.named("a server of today without a usage")
        let root = Data(pem(chain.anchors[0]).utf8)
        let bundle = directory.appendingPathComponent("bundle.crt")
        try root.write(to: bundle)
        var evaluation = chain.evaluation
        evaluation.anchors = []
        evaluation.trustsMachine = true
        let places = MachineAnchors.Places(bundles: ["/nowhere", bundle.path], owners: [added.path])

        let machine = MachineAnchors(places)
        let system = try evaluation.answer(machine: machine)
        #expect(system.anchor == .system)
        #expect(system.failures == [TrustFailure(.serverExtendedKeyUsage, at: 0)])

        // Seen without a new start.
        try root.write(to: added.appendingPathComponent("own.crt"))
        let owner = try evaluation.answer(machine: machine)
        #expect(owner.anchor == .owner)
        #expect(owner.isTrusted)

        // 826 days are too long for everybody, and 399 for the system's roots alone.
        var long = try Chain.named("a server for 826 days").evaluation
        long.trustsMachine = true
        try Data(pem(long.anchors[0]).utf8).write(to: added.appendingPathComponent("own.crt"))
        try Data(pem(long.anchors[0]).utf8).write(to: bundle)
        long.anchors = []
        #expect(try long.answer(machine: machine).failures == [TrustFailure(.validityPeriod, at: 0)])
        var allowed = try Chain.named("a server for 825 days").evaluation
        allowed.anchors = []
        allowed.trustsMachine = true
        #expect(try allowed.answer(machine: machine).isTrusted)
        try FileManager.default.removeItem(at: added.appendingPathComponent("own.crt"))
        #expect(try allowed.answer(machine: machine).failures == [TrustFailure(.validityPeriod, at: 0)])
    }

    @Test("TR-2: without a bundle nothing is trusted, and a bundle with other things in it is read") func files() throws
    {
        let chain = try Chain.named("a host that is named")
        var evaluation = chain.evaluation
        evaluation.anchors = []
        evaluation.trustsMachine = true
        let nothing = MachineAnchors(.init(bundles: ["/nowhere"], owners: ["/nowhere"]))
        #expect(try evaluation.answer(machine: nothing).failures == [TrustFailure(.missingIssuer, at: 1)])
        let text =
            "# a comment\r\n" + pem(chain.anchors[0]).replacingOccurrences(of: "\n", with: "\r\n")
            + "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nAAAA"
        #expect(PEMFile.certificates(Data(text.utf8)) == [Array(chain.anchors[0])])
    }

    private func pem(_ der: Data) -> String {
        "-----BEGIN CERTIFICATE-----\n\(der.base64EncodedString())\n-----END CERTIFICATE-----\n"
    }
}
