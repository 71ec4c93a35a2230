internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// Sets what a chain has to meet.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - policies: A `SecPolicy`, or a `CFArray` of them, which all have to be met.
/// - Returns: `errSecSuccess`, or `errSecParam` for anything else, which changes nothing.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, SecPolicy.self), !policies.isEmpty else { return Status.param.rawValue }
    trust.change { $0.policies = policies }
    return Status.success.rawValue
}

/// What a chain has to meet.
///
/// - Parameters:
///   - trust: The trust object.
///   - policies: Takes a `CFArray` of `SecPolicy`.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe policies.initialize(to: trust.read(\.policies) as NSArray)
    return Status.success.rawValue
}

/// Sets anchors in place of the machine's.
///
/// To trust both, call `SecTrustSetAnchorCertificatesOnly` with false after it.
///
/// > Source: TR-2.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - anchorCertificates: A `CFArray` of at most 1,024 `SecCertificate`, of whatever kind; nil for the machine's again.
/// - Returns: `errSecSuccess`, or `errSecParam` for anything else, which changes nothing.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    var anchors: [SecCertificate]?
    if let anchorCertificates {
        guard let all = objects(anchorCertificates, SecCertificate.self), all.count <= TrustLimits.maximumAnchors else {
            return Status.param.rawValue
        }
        anchors = all
    }
    trust.change {
        $0.anchors = anchors
        $0.anchorsOnly = anchors != nil
    }
    return Status.success.rawValue
}

/// Sets whether the machine's anchors count, too.
///
/// > Source: TR-2.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - anchorCertificatesOnly: True for the anchors alone that were set. If none were, nothing is trusted.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.anchorsOnly = anchorCertificatesOnly }
    return Status.success.rawValue
}

/// The anchors that were set.
///
/// - Parameters:
///   - trust: The trust object.
///   - anchors: Takes a `CFArray` of `SecCertificate`; nil if none were set.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe anchors.initialize(to: trust.read(\.anchors).map { $0 as NSArray })
    return Status.success.rawValue
}

/// Sets the date of which the chain is judged.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - verifyDate: The date. One before the year 1 or after 9999 counts as the first or last second of these years.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let date = verifyDate as Date
    trust.change { $0.date = date }
    return Status.success.rawValue
}

/// The date of which the chain is judged.
///
/// - Parameter trust: The trust object.
/// - Returns: Seconds from 2001-01-01 00:00:00 UTC; 0 if no date was set, and it is the time of the evaluation.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    trust.read(\.date)?.timeIntervalSinceReferenceDate ?? 0
}

/// Sets whether missing certificates may be fetched.
///
/// Nothing is ever fetched here (TR-1). The value is kept for `SecTrustGetNetworkFetchAllowed`.
///
/// - Parameters:
///   - trust: The trust object.
///   - allowFetch: Whether they may.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.isFetchAllowed = allowFetch }
    return Status.success.rawValue
}

/// Whether missing certificates might be fetched.
///
/// - Parameters:
///   - trust: The trust object.
///   - allowFetch: Takes what was set, else whether one of the policies is for TLS.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetNetworkFetchAllowed(
    _ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<DarwinBoolean>
) -> OSStatus {
    let isForTLS = trust.read(\.policies).contains { $0.identifier == kSecPolicyAppleSSL as String }
    unsafe allowFetch.initialize(to: DarwinBoolean(trust.read(\.isFetchAllowed) ?? isForTLS))
    return Status.success.rawValue
}

/// Gives OCSP responses to an evaluation, such as a server sends them in the handshake.
///
/// > Source: TR-8.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - responseData: A `CFData` of DER (RFC 6960), or a `CFArray` of at most 16 of them, each of at most 64 KiB; nil for none.
/// - Returns: `errSecSuccess`, or `errSecParam` for anything else, which changes nothing.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus {
    var responses: [Data] = []
    if let responseData {
        guard let all = objects(responseData, NSData.self), all.count <= TrustLimits.maximumResponses,
            all.allSatisfy({ $0.length <= TrustLimits.maximumResponseBytes })
        else { return Status.param.rawValue }
        responses = all.map { $0 as Data }
    }
    trust.change { [responses] in $0.responses = responses }
    return Status.success.rawValue
}
