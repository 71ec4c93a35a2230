public import Dispatch
internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
internal import TouchstoneTrust

/// Takes the result of an evaluation.
public typealias SecTrustCallback = (SecTrust, SecTrustResultType) -> Void

/// Takes whether a chain is trusted, and if it is not, why.
public typealias SecTrustWithErrorCallback = (SecTrust, Bool, CFError?) -> Void

/// Evaluates a chain, if that was not done since the last change.
///
/// It takes milliseconds. Nothing is fetched, and nobody is asked.
///
/// > Source: TR-7.
///
/// - Parameters:
///   - trust: The trust object.
///   - error: Takes nil if the chain is trusted. Else it takes the most serious failure, with all failures of each certificate as its
///     `NSUnderlyingErrorKey`.
/// - Returns: Whether the chain is trusted.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let outcome = trust.evaluated()
    unsafe error?.pointee = outcome.failure()
    return outcome.isTrusted
}

/// Evaluates a chain on another thread.
///
/// - Parameters:
///   - trust: The trust object.
///   - queue: Where `result` is called. It may be any queue.
///   - result: Called once.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping SecTrustWithErrorCallback
) -> OSStatus {
    // Apple's type is not Sendable either: it is called once, and on that queue alone.
    nonisolated(unsafe) let result = result
    DispatchQueue.global().async {
        let outcome = trust.evaluated()
        queue.async { unsafe result(trust, outcome.isTrusted, outcome.failure()) }
    }
    return Status.success.rawValue
}

/// Old form of `SecTrustEvaluateWithError`.
///
/// - Parameters:
///   - trust: The trust object.
///   - result: Takes the result.
/// - Returns: `errSecSuccess`, also if the chain is not trusted; else why nothing could be evaluated.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    let outcome = trust.evaluated()
    unsafe result.initialize(to: outcome.result)
    return outcome.error?.status.rawValue ?? Status.success.rawValue
}

/// Old form of `SecTrustEvaluateAsyncWithError`.
///
/// - Parameters:
///   - trust: The trust object.
///   - queue: Where `result` is called; nil for a queue of the system.
///   - result: Called once.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping SecTrustCallback
) -> OSStatus {
    // Apple's type is not Sendable either: it is called once, and on that queue alone.
    nonisolated(unsafe) let result = result
    DispatchQueue.global().async {
        let outcome = trust.evaluated()
        (queue ?? .global()).async { unsafe result(trust, outcome.result) }
    }
    return Status.success.rawValue
}

/// The last result.
///
/// Nothing is evaluated.
///
/// - Parameters:
///   - trust: The trust object.
///   - result: Takes the result; `.invalid` if nothing was evaluated since the last change.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecTrustGetTrustResult(
    _ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>
) -> OSStatus {
    unsafe result.initialize(to: trust.read(\.outcome)?.result ?? .invalid)
    return Status.success.rawValue
}

/// The last result as a dictionary.
///
/// Nothing is evaluated.
///
/// - Parameter trust: The trust object.
/// - Returns: `kSecTrustEvaluationDate` and `kSecTrustResultValue`; where revocation was asked for, or responses were given,
///   `kSecTrustRevocationChecked`, and if it is true `kSecTrustRevocationValidUntilDate`. Nil if nothing was evaluated.
@discardableResult
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    guard let outcome = trust.read(\.outcome) else { return nil }
    let result = NSMutableDictionary()
    result[kSecTrustEvaluationDate] = outcome.date as NSDate
    result[kSecTrustResultValue] = NSNumber(value: outcome.result.rawValue)
    switch outcome.revocation {
    case nil: break
    case .good(until: let end):
        result[kSecTrustRevocationChecked] = NSNumber(value: true)
        result[kSecTrustRevocationValidUntilDate] = end as NSDate
    case .unknown: result[kSecTrustRevocationChecked] = NSNumber(value: false)
    }
    return result
}

/// What there is to say of each certificate of the chain.
///
/// Nothing is evaluated.
///
/// - Parameter trust: The trust object.
/// - Returns: A `CFArray` of a dictionary for each: `kSecPropertyTypeTitle`, and where it did not meet something
///   `kSecPropertyTypeError`. Empty if nothing was evaluated.
@discardableResult
public func SecTrustCopyProperties(_ trust: SecTrust) -> CFArray? {
    guard let outcome = trust.read(\.outcome) else { return [] as NSArray }
    return outcome.chain.indices.map { index in
        let properties = NSMutableDictionary()
        properties[kSecPropertyTypeTitle] = outcome.name(index) as NSString
        properties[kSecPropertyTypeError] = outcome.words(index) as NSString?
        return properties
    } as NSArray
}
