internal import COpenSSL

/// A chain that libcrypto built, to be held against policies.
struct VerifiedChain {
    /// From the first to the anchor, never empty.
    let certificates: [X509Certificate]
    let anchor: TrustAnswer.Anchor?

    /// Those whose signature counts: an anchor is trusted without one.
    private var signed: ArraySlice<X509Certificate> { anchor == nil ? certificates[...] : certificates.dropLast() }
    private var leaf: X509Certificate { certificates[0] }

    func failures(of policy: TrustPolicy) -> [TrustFailure] {
        var failures = basic
        switch policy.purpose {
        case .basic, .ipSecurity: break
        case .tlsServer: failures += usage(Self.serverUsages) + server
        case .eap(isServer: true): failures += usage(Self.serverUsages)
        case .tlsClient, .eap(isServer: false): failures += usage(XKU_SSL_CLIENT | XKU_ANYEKU)
        case .email: failures += usage(XKU_SMIME | XKU_ANYEKU)
        case .codeSigning: failures += usage(XKU_CODE_SIGN, isRequired: true)
        case .timeStamping: failures += usage(XKU_TIMESTAMP, isRequired: true)
        }
        guard !policy.names.isEmpty else { return failures }
        if policy.purpose == .email {
            if !policy.names.contains(where: leaf.isFor(emailAddress:)) { failures.append(.init(.emailAddress, at: 0)) }
        } else if !policy.names.contains(where: leaf.isFor(host:)) {
            failures.append(.init(.hostName, at: 0))
        }
        return failures
    }

    // MARK: every chain (TR-3)

    private var basic: [TrustFailure] {
        var failures: [TrustFailure] = []
        for (index, certificate) in certificates.enumerated() {
            if certificate.isMalformed { failures.append(.init(.malformed, at: index)) }
            if !certificate.hasSubject, index > 0 || !certificate.hasAlternativeNames {
                failures.append(.init(.emptySubject, at: index))
            }
            if let key = certificate.key, Self.isBelow(key, rsa: 1024, curve: 160) {
                failures.append(.init(.weakKey, at: index))
            }
        }
        for (index, certificate) in signed.enumerated() {
            if let hash = certificate.signatureHash, [NID_md2, NID_md4, NID_md5].contains(hash) {
                failures.append(.init(.weakSignature, at: index))
            }
        }
        return failures
    }

    private static func isBelow(_ key: (kind: Int32, bits: Int), rsa: Int, curve: Int) -> Bool {
        switch key.kind {
        case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS, EVP_PKEY_DSA: key.bits < rsa
        case EVP_PKEY_EC: key.bits < curve
        default: false
        }
    }

    // MARK: a use (TR-4)

    // The last two are what servers for export had.
    private static let serverUsages = XKU_SSL_SERVER | XKU_ANYEKU | XKU_SGC

    /// - Parameters:
    ///   - allowed: Bits of which one will do.
    ///   - isRequired: Whether the first certificate has to have the extension.
    /// - Returns: Those without one of them.
    private func usage(_ allowed: Int32, isRequired: Bool = false) -> [TrustFailure] {
        // What an anchor says of itself is disregarded, unless it is the certificate to verify.
        let limited = anchor == nil || certificates.count == 1 ? certificates[...] : certificates.dropLast()
        return limited.enumerated().compactMap { index, certificate in
            let bits = certificate.extendedKeyUsage ?? (isRequired && index == 0 ? 0 : .max)
            let mask = UInt32(index == 0 ? allowed : allowed | XKU_ANYEKU)
            return bits & mask == 0 ? TrustFailure(.extendedKeyUsage, at: index) : nil
        }
    }

    // MARK: a TLS server (TR-5, TR-6)

    private var server: [TrustFailure] {
        var failures: [TrustFailure] = []
        for (index, certificate) in certificates.enumerated() {
            guard let key = certificate.key, [EVP_PKEY_RSA, EVP_PKEY_RSA_PSS, EVP_PKEY_EC].contains(key.kind),
                !Self.isBelow(key, rsa: 2048, curve: 256)
            else {
                failures.append(.init(.serverKeySize, at: index))
                continue
            }
        }
        for (index, certificate) in signed.enumerated() {
            let hash = certificate.signatureHash
            if hash.map({ [NID_sha224, NID_sha256, NID_sha384, NID_sha512].contains($0) }) != true {
                failures.append(.init(.serverSignatureHash, at: index))
            }
        }
        guard let notBefore = leaf.notBefore, let notAfter = leaf.notAfter else {
            return failures + [.init(.malformed, at: 0)]
        }
        if isWithoutServerUsage(notBefore) { failures.append(.init(.serverExtendedKeyUsage, at: 0)) }
        if let longest = longestPeriod(notBefore), notAfter - notBefore > longest {
            failures.append(.init(.validityPeriod, at: 0))
        }
        return failures
    }

    /// Those whom the machine's owner trusts are exempt, and of others those that were issued before the rule.
    private func isWithoutServerUsage(_ notBefore: Int) -> Bool {
        guard (leaf.extendedKeyUsage ?? 0) & UInt32(XKU_SSL_SERVER) == 0 else { return false }
        switch anchor {
        case .system: return true
        case .owner: return false
        case .program, nil: return notBefore > Self.july2019
        }
    }

    /// In seconds; nil if it may be any.
    private func longestPeriod(_ notBefore: Int) -> Int? {
        guard anchor == .system else {
            let isOwners = anchor == .owner && certificates.count == 1
            return !isOwners && notBefore > Self.july2019 ? 825 * Self.day + Self.hour : nil
        }
        return switch notBefore {
        case ..<Self.july2016: (5 * 365 + 2) * Self.day + Self.hour
        case ..<Self.march2018: (3 * 365 + 2 * 31 + 30 + 1) * Self.day + Self.hour
        case ..<Self.september2020: 825 * Self.day + Self.hour
        default: 398 * Self.day
        }
    }

    private static let hour = 3600
    private static let day = 24 * hour
    private static let july2016 = 1_467_331_200
    private static let march2018 = 1_519_862_400
    private static let july2019 = 1_561_939_200
    private static let september2020 = 1_598_918_400
}
