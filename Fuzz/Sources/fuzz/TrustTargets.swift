import Foundation

@testable import TouchstoneSecurity
@testable import TouchstoneTrust

/// Chains and responses that the tests of the trust have: the working directory is the repository's root.
private struct TrustSeeds: Decodable {
    struct Chain: Decodable {
        var title: String
        var certificates: [Data]
        var anchors: [Data]
        var date: Double
    }

    struct Responses: Decodable {
        struct Response: Decodable { var der: Data }
        var certificates: [Data]
        var anchors: [Data]
        var date: Double
        var responses: [Response]
    }

    static func read<Value: Decodable>(_ name: String) -> Value {
        let path = "Tests/TouchstoneTrustTests/Fixtures/\(name).json"
        guard let data = FileManager.default.contents(atPath: path),
            let value = try? JSONDecoder().decode(Value.self, from: data)
        else { broken("\(path) cannot be read") }
        return value
    }

    static let chains: [Chain] = read("chains")
    static let responses: Responses = read("responses")
    /// Whoever is trusted has to be one of them: nobody can make another signature.
    static let certificates = Set(chains.flatMap(\.certificates))
}

extension Data {
    /// Parts, each after its length in two bytes, little-endian; the last may be cut off.
    fileprivate var parts: [Data] {
        var parts: [Data] = []
        var rest = self[...]
        while rest.count >= 2 {
            let length = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2)
            parts.append(Data(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return parts
    }

    fileprivate static func parts(_ parts: [Data]) -> Data {
        parts.reduce(Data()) { $0 + Data([UInt8($1.count & 0xff), UInt8($1.count >> 8)]) + $1 }
    }
}

private func evaluate(_ evaluation: TrustEvaluation) -> TrustAnswer? {
    guard let answer = unlessRefused([TrustError.self], { try evaluation.answer() }) else { return nil }
    hold(answer.chain.first == evaluation.certificates.first, "another certificate was verified")
    hold(answer.failures.allSatisfy { answer.chain.indices.contains($0.index) }, "a failure of no certificate")
    hold(answer.anchor != nil || !answer.failures.isEmpty, "no anchor, and no failure")
    if answer.isTrusted {
        hold(answer.chain.last.map(evaluation.anchors.contains) == true, "trusted without an anchor")
    }
    return answer
}

private func readTrust(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    switch choice % 4 {
    case 0:
        let purposes: [TrustPolicy.Purpose] = [.basic, .tlsServer, .tlsClient, .email, .codeSigning, .timeStamping]
        let good = TrustSeeds.chains[0]
        var evaluation = TrustEvaluation(
            certificates: rest.parts, policies: [TrustPolicy(purposes[Int(choice / 4) % purposes.count])],
            date: Date(timeIntervalSince1970: good.date))
        evaluation.anchors = good.anchors
        evaluation.trustsMachine = false
        if let answer = evaluate(evaluation), answer.isTrusted {
            hold(TrustSeeds.certificates.contains(answer.chain[0]), "somebody signed without the key")
        }
    case 1:
        let seeds = TrustSeeds.responses
        var evaluation = TrustEvaluation(
            certificates: seeds.certificates, policies: [TrustPolicy(.tlsServer)],
            date: Date(timeIntervalSince1970: seeds.date))
        evaluation.anchors = seeds.anchors
        evaluation.trustsMachine = false
        evaluation.ocspResponses = [rest]
        guard let answer = evaluate(evaluation) else { broken("the good chain cannot be evaluated") }
        // A response can be padded, but what says something is signed by one of the keys.
        if !answer.isTrusted { hold(answer.failures == [TrustFailure(.revoked, at: 0)], "another failure") }
    case 2:
        guard let exceptions = TrustExceptions(cookie: rest) else { return }
        guard let cookie = exceptions.cookie else { broken("a cookie is read and not written") }
        hold(TrustExceptions(cookie: cookie) == exceptions, "a cookie is another the second time")
    default:
        for der in PEMFile.certificates(rest) { hold(!der.isEmpty, "an empty certificate") }
    }
}

let trustTargets: [FuzzTarget] = [
    FuzzTarget(name: "trust", maximumBytes: 8192, run: readTrust) {
        var seeds: [Data] = []
        for chain in TrustSeeds.chains where chain.certificates.count < 6 {
            var seed = Data([UInt8(seeds.count % 6 * 4)])
            seed.append(Data.parts(chain.certificates))
            seeds.append(seed)
        }
        for response in TrustSeeds.responses.responses {
            var seed = Data([1])
            seed.append(response.der)
            seeds.append(seed)
        }
        let cookie = Data(#"{"certificates":[{"digest":"AAAA","failures":["validity"]}],"version":1}"#.utf8)
        let pem = "-----BEGIN CERTIFICATE-----\r\nAAAA\r\n-----END CERTIFICATE-----\r\n"
        var kept = Data([2])
        kept.append(cookie)
        var text = Data([3])
        text.append(Data(pem.utf8))
        return seeds + [kept, text]
    }
]
