import Foundation
import Testing
import TouchstoneTrust

/// A file of Fixtures.
func fixture<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws -> Value {
    let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: "json"))
    return try JSONDecoder().decode(Value.self, from: Data(contentsOf: url))
}

/// A chain that `chains.py` made, and what it does not meet.
struct Chain: Decodable, Sendable {
    var title: String
    var certificates: [Data]
    var anchors: [Data]
    var policy: String
    var name: String
    /// Seconds since 1970.
    var date: Double
    var failures: [Failure]

    struct Failure: Decodable, Equatable, Sendable {
        var index: Int
        var rule: TrustRule

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            index = try values.decode(Int.self)
            let name = try values.decode(String.self)
            rule = try #require(TrustRule(rawValue: name))
        }
    }

    static let all: [Chain] = (try? fixture("chains")) ?? []

    static func named(_ title: String) throws -> Chain { try #require(all.first { $0.title == title }) }

    var evaluation: TrustEvaluation {
        let purposes: [String: TrustPolicy.Purpose] = [
            "ssl": .tlsServer, "client": .tlsClient, "basic": .basic, "email": .email, "code": .codeSigning,
        ]
        let isNamed = ["ssl", "email"].contains(policy) && !name.isEmpty
        var evaluation = TrustEvaluation(
            certificates: certificates,
            policies: [TrustPolicy(purposes[policy] ?? .basic, names: isNamed ? [name] : [])],
            date: Date(timeIntervalSince1970: date))
        evaluation.anchors = anchors
        evaluation.trustsMachine = false
        return evaluation
    }
}
