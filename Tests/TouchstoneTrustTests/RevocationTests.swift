import Foundation
import Testing
import TouchstoneTrust

/// OCSP responses that come with a chain.
@Suite struct RevocationTests {
    private struct Responses: Decodable {
        struct Response: Decodable {
            var title: String
            var says: String
            var der: Data
        }

        var certificates: [Data]
        var anchors: [Data]
        var date: Double
        var ofIntermediate: Data
        var responses: [Response]

        func evaluation(_ responses: [Data], isRequired: Bool = false) -> TrustEvaluation {
            var evaluation = TrustEvaluation(
                certificates: certificates,
                policies: [
                    TrustPolicy(.tlsServer),
                    TrustPolicy(.basic, checksRevocation: true, requiresRevocationResponse: isRequired),
                ], date: Date(timeIntervalSince1970: date))
            evaluation.anchors = anchors
            evaluation.trustsMachine = false
            evaluation.ocspResponses = responses
            return evaluation
        }
    }

    @Test("TR-8: a response says something only if it is of the date, and signed by who may") func responses() throws {
        let fixture: Responses = try fixture("responses")
        #expect(fixture.responses.count == 21)
        for response in fixture.responses {
            let answer = try fixture.evaluation([response.der, fixture.ofIntermediate], isRequired: true).answer()
            switch response.says {
            case "good":
                #expect(answer.isTrusted, "\(response.title)")
                #expect(answer.revocation != .unknown, "\(response.title)")
            case "revoked": #expect(answer.failures == [TrustFailure(.revoked, at: 0)], "\(response.title)")
            default: #expect(answer.failures == [TrustFailure(.revocationUnknown, at: 0)], "\(response.title)")
            }
        }
    }

    @Test("TR-8: a response counts without a policy, if it says revoked, and is else not needed") func soft() throws {
        let fixture: Responses = try fixture("responses")
        for response in fixture.responses {
            let answer = try fixture.evaluation([response.der]).answer()
            #expect(answer.isTrusted == (response.says != "revoked"), "\(response.title)")
            #expect(answer.revocation == .unknown, "\(response.title)")
        }
        #expect(try fixture.evaluation([]).answer().isTrusted)
    }

    @Test("TR-8: required responses are those of every certificate below the anchor") func required() throws {
        let fixture: Responses = try fixture("responses")
        let good = try #require(fixture.responses.first { $0.says == "good" })
        #expect(
            try fixture.evaluation([], isRequired: true).answer().failures == [
                TrustFailure(.revocationUnknown, at: 0), TrustFailure(.revocationUnknown, at: 1),
            ])
        #expect(
            try fixture.evaluation([good.der], isRequired: true).answer().failures == [
                TrustFailure(.revocationUnknown, at: 1)
            ])
        let answer = try fixture.evaluation([fixture.ofIntermediate, good.der], isRequired: true).answer()
        // The first of the two ends is that of both.
        #expect(answer.revocation == .good(until: Date(timeIntervalSince1970: fixture.date + 6 * 86_400)))
    }

    @Test("TR-8: with a good and a later response that says revoked, the first that says something counts")
    func several() throws {
        let fixture: Responses = try fixture("responses")
        let nothing = fixture.responses.filter { $0.says == "nothing" }.prefix(8).map(\.der)
        let revoked = try #require(fixture.responses.first { $0.says == "revoked" })
        let answer = try fixture.evaluation(nothing + [revoked.der]).answer()
        #expect(answer.failures == [TrustFailure(.revoked, at: 0)])
    }
}
