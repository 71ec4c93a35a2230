internal import Crypto
internal import Foundation
internal import TouchstoneTrust

/// What an owner accepted of a chain: failures of certificates that are told by their bytes (TR-9).
struct TrustExceptions: Codable, Equatable, Sendable {
    private struct Accepted: Codable, Equatable {
        /// SHA-256 of the certificate.
        var digest: Data
        /// Rules by their names.
        var failures: Set<String>
    }

    private var version = Self.current
    private var certificates: [Accepted]

    init(chain: [Data], failures: [TrustFailure]) {
        certificates = chain.enumerated().map { index, der in
            let rules = failures.filter { $0.index == index && !$0.rule.isFatal }.map(\.rule.rawValue)
            return Accepted(digest: Self.digest(der), failures: Set(rules))
        }
    }

    /// Reads a cookie; nil for anything that is not one.
    init?(cookie: Data) {
        guard cookie.count <= Self.maximumBytes, let value = try? JSONDecoder().decode(Self.self, from: cookie),
            value.version == Self.current, !value.certificates.isEmpty
        else { return nil }
        self = value
    }

    var cookie: Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try? encoder.encode(self)
    }

    /// Whether they are about a chain that begins so.
    func isAbout(leaf der: Data) -> Bool { certificates.first?.digest == Self.digest(der) }

    func accept(_ failure: TrustFailure, in chain: [Data]) -> Bool {
        guard !failure.rule.isFatal, certificates.indices.contains(failure.index),
            chain.indices.contains(failure.index)
        else { return false }
        let accepted = certificates[failure.index]
        return accepted.digest == Self.digest(chain[failure.index]) && accepted.failures.contains(failure.rule.rawValue)
    }

    private static func digest(_ der: Data) -> Data { Data(SHA256.hash(data: der)) }

    private static let current = 1
    private static let maximumBytes = 64 << 10
}
