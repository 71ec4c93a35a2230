// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import CryptoKit
import Foundation
import Security

/// How iOS apps pin servers: by the hash of a public key, by a certificate, or by anchors of their own.
enum PinningMode {
    case publicKeyHashes(Set<String>)
    case certificates([Data])
    case anchors([Data])
}

final class ServerTrustEvaluator: ServerTrustPolicy {
    private let mode: PinningMode
    /// Set by tests: the certificates do not last.
    var date: Date?

    init(_ mode: PinningMode) {
        self.mode = mode
    }

    /// What a delegate of a session is given, made of what a server shows.
    static func trust(_ chain: [Data]) -> SecTrust? {
        let certificates = chain.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
        var trust: SecTrust?
        let status = SecTrustCreateWithCertificates(certificates as CFTypeRef, SecPolicyCreateBasicX509(), &trust)
        guard status == errSecSuccess else { return nil }
        return trust
    }

    func isTrusted(_ trust: SecTrust, forHost host: String) -> Bool {
        (try? evaluate(trust, forHost: host)) != nil
    }

    func evaluate(_ trust: SecTrust, forHost host: String) throws {
        let policy = SecPolicyCreateSSL(true, host as CFString)
        guard SecTrustSetPolicies(trust, policy) == errSecSuccess else { throw PasswordError(errSecParam) }
        if let date = date { SecTrustSetVerifyDate(trust, date as CFDate) }
        switch mode {
        case .anchors(let anchors), .certificates(let anchors):
            let roots = anchors.map { SecCertificateCreateWithData(nil, $0 as CFData)! }
            SecTrustSetAnchorCertificates(trust, roots as CFArray)
            SecTrustSetAnchorCertificatesOnly(trust, true)
        case .publicKeyHashes: break
        }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else { throw error! as Error }
        switch mode {
        case .anchors: break
        case .certificates(let pinned):
            let shown = SecTrustCopyCertificateChain(trust) as! [SecCertificate]
            let data = Set(shown.map { SecCertificateCopyData($0) as Data })
            guard !data.isDisjoint(with: pinned) else { throw PasswordError(errSecNotTrusted) }
        case .publicKeyHashes(let hashes):
            guard Self.publicKeyHashes(trust).contains(where: hashes.contains) else {
                throw PasswordError(errSecNotTrusted)
            }
        }
    }

    /// Of the whole chain, by the loop that was written before iOS 15.
    static func publicKeyHashes(_ trust: SecTrust) -> [String] {
        (0..<SecTrustGetCertificateCount(trust)).compactMap { index in
            guard let certificate = SecTrustGetCertificateAtIndex(trust, index),
                let key = SecCertificateCopyKey(certificate),
                let data = SecKeyCopyExternalRepresentation(key, nil) as Data?
            else { return nil }
            return Data(SHA256.hash(data: data)).base64EncodedString()
        }
    }

    /// The same of the server alone, from the trust.
    static func publicKeyHash(_ trust: SecTrust) -> String? {
        guard let key = SecTrustCopyKey(trust) else { return nil }
        let attributes = SecKeyCopyAttributes(key) as! [CFString: Any]
        guard attributes[kSecAttrKeyType] as? String == kSecAttrKeyTypeECSECPrimeRandom as String,
            let data = SecKeyCopyExternalRepresentation(key, nil) as Data?
        else { return nil }
        return Data(SHA256.hash(data: data)).base64EncodedString()
    }

    /// A certificate that the owner accepted once, as browsers do it.
    func accept(_ trust: SecTrust, with cookie: Data?) -> Data? {
        if let cookie = cookie, SecTrustSetExceptions(trust, cookie as CFData) { return cookie }
        var result = SecTrustResultType.invalid
        guard SecTrustEvaluate(trust, &result) == errSecSuccess else { return nil }
        switch result {
        case .unspecified, .proceed: return nil
        case .recoverableTrustFailure: return SecTrustCopyExceptions(trust) as Data?
        default: return nil
        }
    }

    func evaluate(_ trust: SecTrust, _ completion: @escaping @Sendable (Bool, Error?) -> Void) {
        let queue = DispatchQueue(label: "trust")
        queue.async {
            let status = SecTrustEvaluateAsyncWithError(trust, queue) { _, isTrusted, error in
                completion(isTrusted, error)
            }
            if status != errSecSuccess { completion(false, PasswordError(status)) }
        }
    }
}
