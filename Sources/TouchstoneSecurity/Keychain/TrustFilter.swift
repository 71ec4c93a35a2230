internal import Foundation
internal import TouchstoneCertificates
internal import TouchstoneCore
internal import TouchstoneCoreFoundation
internal import TouchstoneInterfaces
internal import TouchstoneTrust

/// What `kSecMatchPolicy` and `kSecMatchTrustedOnly` ask of the certificates that a search finds (TR-10).
///
/// It is the app that judges them, not the device: only apps load libcrypto.
struct TrustFilter {
    /// Nil for `SecPolicyCreateBasicX509`.
    var policy: SecPolicy?
    /// Whether the chain has to reach an anchor of the machine.
    var isTrustedOnly: Bool

    /// The items that meet it.
    ///
    /// - Parameters:
    ///   - items: What the device found, with the certificates.
    ///   - itemClass: Certificates or identities.
    /// - Returns: Those, in the same order.
    func items(_ items: [KeychainInterface.Item], of itemClass: ItemClass) -> [KeychainInterface.Item] {
        let found = items.map { item in
            (itemClass == .identity ? item.certificate : item.data).flatMap(SecCertificate.init(itemData:))
        }
        let helpers = Self.certificates() + found.compactMap { $0 }
        return zip(items, found).filter { _, certificate in
            certificate.map { isMet(by: $0, helpers) } ?? false
        }.map(\.0)
    }

    private func isMet(by certificate: SecCertificate, _ helpers: [SecCertificate]) -> Bool {
        let evaluation = TrustEvaluation(
            certificates: Self.issuers(of: certificate, helpers).map(\.value.der),
            policies: [(policy ?? SecPolicyCreateBasicX509()).value], date: Date())
        guard let answer = try? evaluation.answer() else { return false }
        return isTrustedOnly ? answer.isTrusted : answer.failures.allSatisfy(\.rule.meansNoAnchor)
    }

    /// The certificate, and those that may lead from it to an anchor, by their names.
    private static func issuers(of certificate: SecCertificate, _ helpers: [SecCertificate]) -> [SecCertificate] {
        var chosen = [certificate]
        var names: Set<Data> = []
        var next = 0
        while next < chosen.count {
            defer { next += 1 }
            guard let name = chosen[next].value.issuer.normalizedContent, names.insert(name).inserted else { continue }
            for helper in helpers where helper.value.subject.normalizedContent == name && !chosen.contains(helper) {
                chosen.append(helper)
                if chosen.count == TrustLimits.maximumCertificates { return chosen }
            }
        }
        return chosen
    }

    /// All certificates of the app's that can be had without asking the owner.
    private static func certificates() -> [SecCertificate] {
        let query: [CFString: Any] = [
            kSecClass: kSecClassCertificate, kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true,
            kSecUseAuthenticationUI: kSecUseAuthenticationUISkip,
        ]
        var result: CFTypeRef?
        guard unsafe SecItemCopyMatching(query as CFDictionary, &result) == Status.success.rawValue else { return [] }
        return result as? [SecCertificate] ?? []
    }
}
