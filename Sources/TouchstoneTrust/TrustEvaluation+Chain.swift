internal import COpenSSL
internal import Foundation

extension TrustEvaluation {
    /// Builds the chain, verifies it, and holds it against the policies.
    ///
    /// Nothing is fetched. What it may take is bounded by `TrustLimits`.
    ///
    /// > Source: TR-1…TR-8, TR-11.
    ///
    /// - Parameter machine: The anchors of the machine.
    /// - Returns: The answer; a chain that is not trusted is one, too.
    /// - Throws: If nothing could be evaluated, and so nothing is trusted.
    package func answer(machine: MachineAnchors = .shared) throws(TrustError) -> TrustAnswer {
        guard let crypto = unsafe libCrypto else { throw .libCryptoMissing }
        guard let first = certificates.first else { throw .nothingToVerify }
        guard let leaf = unsafe X509Certificate(Array(first), crypto) else {
            return TrustAnswer(
                chain: [first], anchor: nil, failures: [TrustFailure(.malformed, at: 0)], revocation: .unknown)
        }
        let helpers = certificates.prefix(TrustLimits.maximumCertificates).dropFirst().compactMap {
            unsafe X509Certificate(Array($0), crypto)
        }
        let own = anchors.prefix(TrustLimits.maximumAnchors).compactMap { unsafe X509Certificate(Array($0), crypto) }
        let known = machine.certificates()
        let found = try unsafe chain(from: leaf, helpers, trustsMachine ? own + known.all : own, crypto)
        let anchor = found.anchor.map { anchor -> TrustAnswer.Anchor in
            if known.system.contains(anchor.der) { return .system }
            return own.contains { $0.der == anchor.der } ? .program : .owner
        }
        let chain = VerifiedChain(certificates: found.certificates, anchor: anchor)
        let revocation = unsafe revocation(of: found.certificates, crypto)
        var failures = found.failures
        for policy in policies { failures += chain.failures(of: policy) }
        failures += revocation.revoked.map { TrustFailure(.revoked, at: $0) }
        if policies.contains(where: \.requiresRevocationResponse) {
            failures += revocation.unknown.map { TrustFailure(.revocationUnknown, at: $0) }
        }
        var seen: Set<TrustFailure> = []
        return TrustAnswer(
            chain: found.certificates.map { Data($0.der) }, anchor: anchor,
            failures: failures.filter { seen.insert($0).inserted }.prefix(TrustLimits.maximumFailures)
                .sorted { $0.index < $1.index },
            revocation: revocation.answer)
    }

    /// The first chain that libcrypto accepts; else the first that reaches an anchor; else the first that it built.
    ///
    /// libcrypto goes one way up and does not turn round. So what its chain ended with is left out in the next attempt.
    private func chain(
        from leaf: X509Certificate, _ helpers: [X509Certificate], _ trusted: [X509Certificate], _ crypto: LibCrypto
    ) throws(TrustError) -> BuiltChain {
        var (helpers, trusted) = (helpers, trusted)
        var best: BuiltChain?
        for _ in 0..<TrustLimits.maximumAttempts {
            let built = try unsafe BuiltChain(
                from: leaf, helpers, trusted, seconds: seconds, crypto)
            if built.isAccepted { return built }
            if best == nil || best?.anchor == nil && built.anchor != nil { best = built }
            guard let last = built.certificates.last, last.der != leaf.der else { break }
            helpers.removeAll { $0.der == last.der }
            trusted.removeAll { $0.der == last.der }
        }
        guard let best else { throw .libCryptoFailed }
        return best
    }
}

/// What libcrypto makes of some certificates in one attempt.
private struct BuiltChain {
    /// Never empty.
    let certificates: [X509Certificate]
    /// The last of them, if it is trusted.
    let anchor: X509Certificate?
    let failures: [TrustFailure]

    var isAccepted: Bool { anchor != nil && failures.isEmpty }

    /// What libcrypto's verification says: the chain, and each failure, after which it went on.
    init(
        from leaf: X509Certificate, _ helpers: [X509Certificate], _ trusted: [X509Certificate], seconds: Int,
        _ crypto: LibCrypto
    ) throws(TrustError) {
        guard let store = unsafe crypto.pointee.X509_STORE_new() else { throw .libCryptoFailed }
        defer { unsafe crypto.pointee.X509_STORE_free(store) }
        for certificate in trusted {
            guard unsafe crypto.pointee.X509_STORE_add_cert(store, certificate.pointer) == 1 else {
                throw .libCryptoFailed
            }
        }
        guard let stack = unsafe crypto.stack(of: helpers), let context = unsafe crypto.pointee.X509_STORE_CTX_new()
        else {
            throw .libCryptoFailed
        }
        defer {
            unsafe crypto.pointee.X509_STORE_CTX_free(context)
            unsafe crypto.pointee.OPENSSL_sk_free(stack)
            unsafe crypto.pointee.ERR_clear_error()
        }
        guard unsafe crypto.pointee.X509_STORE_CTX_init(context, store, leaf.pointer, stack) == 1 else {
            throw .libCryptoFailed
        }
        let parameters = unsafe crypto.pointee.X509_STORE_CTX_get0_param(context)
        let flags = X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_POLICY_CHECK
        _ = unsafe crypto.pointee.X509_VERIFY_PARAM_set_flags(parameters, UInt(flags))
        unsafe crypto.pointee.X509_VERIFY_PARAM_set_depth(parameters, Int32(TrustLimits.maximumDepth))
        unsafe crypto.pointee.X509_VERIFY_PARAM_set_time(parameters, seconds)
        // An object of libcrypto's own, which nobody frees. Without it no policy at all would be accepted.
        _ = unsafe crypto.pointee.X509_VERIFY_PARAM_add0_policy(
            parameters, crypto.pointee.OBJ_nid2obj(NID_any_policy))

        let record = VerificationRecord()
        _ = unsafe crypto.pointee.X509_STORE_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(record).toOpaque())
        unsafe crypto.pointee.X509_STORE_CTX_set_verify_cb(context) { isGood, context in
            unsafe VerificationRecord.note(isGood, context)
        }
        let verdict = withExtendedLifetime(record) { unsafe crypto.pointee.X509_verify_cert(context) }

        var places: [OpaquePointer: X509Certificate] = unsafe [:]
        for certificate in [leaf] + helpers + trusted { unsafe places[certificate.pointer] = certificate }
        var chain: [X509Certificate] = []
        if let built = unsafe crypto.pointee.X509_STORE_CTX_get0_chain(context) {
            for index in 0..<(unsafe crypto.pointee.OPENSSL_sk_num(built)) {
                guard let pointer = unsafe crypto.pointee.OPENSSL_sk_value(built, index),
                    let certificate = unsafe places[OpaquePointer(pointer)]
                else { throw .libCryptoFailed }
                chain.append(certificate)
            }
        }
        if chain.isEmpty { chain = [leaf] }
        // Failures that it stopped at were noted, too: one that was not would be trust by mistake.
        guard verdict == 1 || !record.failures.isEmpty, !record.hasStopped else { throw .libCryptoFailed }
        let last = chain.count - 1
        let found = record.failures.map { TrustFailure($0.rule, at: min($0.index, last)) }
        let ders = Set(trusted.map(\.der))
        // What is above a trusted certificate does not count, and neither does who issued it.
        if let top = chain.firstIndex(where: { ders.contains($0.der) }) {
            let failures = found.filter { $0.index < top || $0.index == top && !$0.rule.meansNoAnchor }
            certificates = Array(chain[...top])
            self.failures = failures
            anchor = failures.contains(where: \.rule.meansNoAnchor) ? nil : chain[top]
        } else {
            certificates = chain
            // Without an anchor a chain is never trusted, whatever else is said of it.
            failures =
                found.contains(where: \.rule.meansNoAnchor) ? found : found + [TrustFailure(.untrustedRoot, at: last)]
            anchor = nil
        }
    }
}

/// What libcrypto calls back with.
private final class VerificationRecord {
    private(set) var failures: [TrustFailure] = []
    private(set) var hasStopped = false

    /// Takes a failure and goes on, so that all of them are found.
    static func note(_ isGood: Int32, _ context: OpaquePointer?) -> Int32 {
        if isGood == 1 { return 1 }
        guard let crypto = unsafe libCrypto,
            let place = unsafe crypto.pointee.X509_STORE_CTX_get_ex_data(context, 0)
        else { return 0 }
        let record = unsafe Unmanaged<VerificationRecord>.fromOpaque(place).takeUnretainedValue()
        let code = unsafe crypto.pointee.X509_STORE_CTX_get_error(context)
        guard let rule = TrustRule(verificationError: code), record.failures.count < TrustLimits.maximumFailures else {
            record.hasStopped = true
            return 0
        }
        let depth = unsafe crypto.pointee.X509_STORE_CTX_get_error_depth(context)
        // It stopped because of the length, and then misses the issuer.
        if rule == .missingIssuer, record.failures.contains(where: { $0.rule == .chainLength }) { return 1 }
        record.failures.append(TrustFailure(rule, at: max(0, Int(depth))))
        return 1
    }
}
