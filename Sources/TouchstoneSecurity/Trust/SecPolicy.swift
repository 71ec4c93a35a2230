public import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// What a chain of certificates has to meet.
public final class SecPolicy: NSObject, CoreFoundationType, Sendable {
    /// One of the `kSecPolicyApple…` constants.
    let identifier: String
    let value: TrustPolicy
    /// The `kSecRevocation…` flags of a policy of revocation.
    let revocationFlags: CFOptionFlags?

    package static let typeID: CFTypeID = 0x5443_5350

    init(_ identifier: CFString, _ value: TrustPolicy, revocationFlags: CFOptionFlags? = nil) {
        self.identifier = identifier as String
        self.value = value
        self.revocationFlags = revocationFlags
    }

    /// Whether another policy demands the same.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is such a policy.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecPolicy else { return false }
        return other.identifier == identifier && other.value == value && other.revocationFlags == revocationFlags
    }

    /// The hash of what it demands.
    public override var hash: Int { value.hashValue }

    /// Its identifier, and the names that it looks for.
    public override var description: String {
        let names = value.names.map(\.debugDescription).joined(separator: ", ")
        return "<SecPolicy: \(identifier)\(names.isEmpty ? "" : "; " + names)>"
    }
}

/// The type of `SecPolicy`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecPolicyGetTypeID() -> CFTypeID { SecPolicy.typeID }

/// Makes the policy that demands RFC 5280 alone.
///
/// > Source: TR-3.
///
/// - Returns: The policy.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(kSecPolicyAppleX509Basic, TrustPolicy(.basic)) }

/// Makes the policy for TLS.
///
/// > Source: TR-4, TR-5, TR-6.
///
/// - Parameters:
///   - server: Whether the certificate is a server's. Only servers have to meet Apple's rules of 2019 and 2020.
///   - hostname: The host, or its address as text, that has to be among the certificate's alternative names; nil for any.
/// - Returns: The policy.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    let names = hostname.map { [$0 as String] } ?? []
    return SecPolicy(kSecPolicyAppleSSL, TrustPolicy(server ? .tlsServer : .tlsClient, names: names))
}

/// Makes the policy for revocation.
///
/// Nothing is fetched. What is looked at are the responses of `SecTrustSetOCSPResponse`.
///
/// > Source: TR-8.
///
/// - Parameter revocationFlags: `kSecRevocation…` flags. Of them `kSecRevocationRequirePositiveResponse` has an effect.
/// - Returns: The policy; nil without a method.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    guard revocationFlags & kSecRevocationUseAnyAvailableMethod != 0 else { return nil }
    return SecPolicy(
        kSecPolicyAppleRevocation,
        TrustPolicy(
            .basic, checksRevocation: true,
            requiresRevocationResponse: revocationFlags & kSecRevocationRequirePositiveResponse != 0),
        revocationFlags: revocationFlags)
}

/// Makes a policy by its identifier.
///
/// > Source: TR-4.
///
/// - Parameters:
///   - policyIdentifier: One of the `kSecPolicyApple…` constants.
///   - properties: `kSecPolicyName`, `kSecPolicyClient` and `kSecPolicyRevocationFlags`, where the policy has them.
/// - Returns: The policy; nil for a property of the wrong type, for an identifier that is not known, and for a policy that demands an
///   anchor of Apple's.
@discardableResult
public func SecPolicyCreateWithProperties(_ policyIdentifier: CFTypeRef, _ properties: CFDictionary?) -> SecPolicy? {
    guard let identifier = policyIdentifier as? NSString, let properties = PolicyProperties(properties) else {
        return nil
    }
    let purpose: TrustPolicy.Purpose
    switch identifier {
    case kSecPolicyAppleX509Basic: return SecPolicyCreateBasicX509()
    case kSecPolicyAppleRevocation:
        return SecPolicyCreateRevocation(properties.flags ?? kSecRevocationUseAnyAvailableMethod)
    case kSecPolicyAppleSSL: purpose = properties.isClient ? .tlsClient : .tlsServer
    case kSecPolicyAppleEAP: purpose = .eap(isServer: !properties.isClient)
    case kSecPolicyAppleIPsec: purpose = .ipSecurity
    case kSecPolicyAppleSMIME: purpose = .email
    case kSecPolicyAppleCodeSigning: return SecPolicy(identifier, TrustPolicy(.codeSigning))
    case kSecPolicyAppleTimeStamping: return SecPolicy(identifier, TrustPolicy(.timeStamping))
    default: return nil
    }
    return SecPolicy(identifier, TrustPolicy(purpose, names: properties.names))
}

/// What a policy says of itself.
///
/// - Parameter policyRef: The policy.
/// - Returns: `kSecPolicyOid`, and of `kSecPolicyName`, `kSecPolicyClient` and `kSecPolicyRevocationFlags` those that it has.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let properties = NSMutableDictionary()
    properties[kSecPolicyOid] = policyRef.identifier as NSString
    let names = policyRef.value.names
    if names.count == 1 {
        properties[kSecPolicyName] = names[0] as NSString
    } else if !names.isEmpty {
        properties[kSecPolicyName] = names.map { $0 as NSString } as NSArray
    }
    if [.tlsClient, .eap(isServer: false)].contains(policyRef.value.purpose) {
        properties[kSecPolicyClient] = NSNumber(value: true)
    }
    if let flags = policyRef.revocationFlags { properties[kSecPolicyRevocationFlags] = NSNumber(value: flags) }
    return properties
}

/// The properties of a dictionary.
private struct PolicyProperties {
    var names: [String] = []
    var isClient = false
    var flags: CFOptionFlags?

    /// Nil if a value has the wrong type.
    init?(_ dictionary: CFDictionary?) {
        guard let dictionary else { return }
        switch dictionary[kSecPolicyName] {
        case nil: break
        case let name as NSString: names = [name as String]
        case let list as NSArray:
            names = list.compactMap { $0 as? String }
            guard names.count == list.count else { return nil }
        default: return nil
        }
        switch dictionary[kSecPolicyClient] {
        case nil: break
        case let value as NSNumber: isClient = value.boolValue
        default: return nil
        }
        switch dictionary[kSecPolicyRevocationFlags] {
        case nil: break
        case let value as NSNumber: flags = value.uintValue
        default: return nil
        }
    }
}
