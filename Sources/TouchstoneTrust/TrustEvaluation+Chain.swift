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
        let trusted = trustsMachine ? own + known.all : own
        let found = try unsafe Self.chain(
            from: leaf, helpers, trusted, seconds: Int(date.timeIntervalSince1970.rounded(.down)), crypto)
        let last = found.certificates.last ?? leaf
        let anchor: TrustAnswer.Anchor? =
            if !found.failures.allSatisfy({ !$0.rule.meansNoAnchor }) {
                nil
            } else if known.system.contains(last.der) {
                .system
            } else if own.contains(where: { $0.der == last.der }) {
                .program
            } else if known.owner.contains(last.der) {
                .owner
            } else {
                nil
            }
        let chain = VerifiedChain(certificates: found.certificates, anchor: anchor)
        let revocation = unsafe revocation(of: found.certificates, crypto)
        var failures = found.failures
        for policy in policies { failures += chain.failures(of: policy) }
        failures += revocation.revoked.map { TrustFailure(.revoked, at: $0) }
        if policies.contains(where: \.requiresRevocationResponse) {
            failures += revocation.unknown.map { TrustFailure(.revocationUnknown, at: $0) }
        }
        // Without an anchor a chain is never trusted, whatever else is said of it.
        if anchor == nil, !failures.contains(where: \.rule.meansNoAnchor) {
            failures.append(TrustFailure(.untrustedRoot, at: found.certificates.count - 1))
        }
        var seen: Set<TrustFailure> = []
        return TrustAnswer(
            chain: found.certificates.map { Data($0.der) }, anchor: anchor,
            failures: failures.filter { seen.insert($0).inserted }.prefix(TrustLimits.maximumFailures)
                .sorted { $0.index < $1.index },
            revocation: revocation.answer)
    }

    /// What libcrypto's verification says: the chain, and each failure, after which it went on.
    private static func chain(
        from leaf: X509Certificate, _ helpers: [X509Certificate], _ trusted: [X509Certificate], seconds: Int,
        _ crypto: LibCrypto
    ) throws(TrustError) -> (certificates: [X509Certificate], failures: [TrustFailure]) {
        guard let store = unsafe crypto.pointee.X509_STORE_new() else { throw .libCryptoFailed }
        defer { unsafe crypto.pointee.X509_STORE_free(store) }
        for certificate in trusted {
            guard unsafe crypto.pointee.X509_STORE_add_cert(store, certificate.pointer) == 1 else { throw .libCryptoFailed }
        }
        guard let stack = unsafe crypto.stack(of: helpers), let context = unsafe crypto.pointee.X509_STORE_CTX_new() else {
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
        return (chain, record.failures.map { TrustFailure($0.rule, at: min($0.index, last)) })
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
        record.failures.append(TrustFailure(rule, at: max(0, Int(depth))))
        return 1
    }
}
