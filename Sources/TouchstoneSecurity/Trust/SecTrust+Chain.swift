internal import Foundation
internal import TouchstoneCertificates
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// The public key of the certificate that is verified, whether it is trusted or not.
///
/// - Parameter trust: The trust object.
/// - Returns: The key; nil for the kinds for which `SecCertificateCopyKey` has none.
@discardableResult
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { SecCertificateCopyKey(trust.read(\.certificates[0])) }

/// Old name of `SecTrustCopyKey`.
///
/// - Parameter trust: The trust object.
/// - Returns: The key; nil for the kinds for which `SecCertificateCopyKey` has none.
@discardableResult
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

/// The chain, which is evaluated first if that was not done since the last change.
///
/// - Parameter trust: The trust object.
/// - Returns: A `CFArray` of `SecCertificate`, from the one that is verified to the anchor, or to the last issuer that was found.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { trust.evaluated().chain as NSArray }

/// How many certificates the chain has.
///
/// It is evaluated first if that was not done since the last change.
///
/// - Parameter trust: The trust object.
/// - Returns: The count, with the anchor; at least 1.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.evaluated().chain.count }

/// A certificate of the chain, which is evaluated first if that was not done since the last change.
///
/// - Parameters:
///   - trust: The trust object.
///   - ix: Its place. The one that is verified has 0, and nothing is evaluated for it.
/// - Returns: The certificate; nil if the chain is shorter.
@discardableResult
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    if ix == 0 { return trust.read(\.certificates[0]) }
    let chain = trust.evaluated().chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

/// A cookie with which the failures of a chain are accepted from now on.
///
/// Ask the owner first. Keep the cookie with what it is for, such as the server: it holds for every use of the chain. The chain is
/// evaluated without the exceptions that were set.
///
/// > Source: TR-9.
///
/// - Parameter trust: The trust object.
/// - Returns: The cookie; nil if nothing could be evaluated.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    let outcome = trust.evaluatedWithoutExceptions()
    guard outcome.error == nil else { return nil }
    return TrustExceptions(chain: outcome.chain.map(\.value.der), failures: outcome.failures).cookie as NSData?
}

/// Accepts the failures of a cookie.
///
/// Others still count.
///
/// > Source: TR-9.
///
/// - Parameters:
///   - trust: The trust object, which forgets its result.
///   - exceptions: What `SecTrustCopyExceptions` returned, in whatever process; nil for none.
/// - Returns: Whether it is a cookie for the certificate that is verified. If it is not, none is set.
@discardableResult
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool {
    let leaf = trust.read(\.certificates[0]).value.der
    let accepted = exceptions.flatMap { TrustExceptions(cookie: $0 as Data) }.flatMap {
        $0.isAbout(leaf: leaf) ? $0 : nil
    }
    trust.change { $0.exceptions = accepted }
    return accepted != nil
}

extension SecTrust {
    fileprivate func evaluatedWithoutExceptions() -> TrustOutcome {
        let copy = SecTrust(certificates: read(\.certificates), policies: read(\.policies))
        let (anchors, anchorsOnly) = (read(\.anchors), read(\.anchorsOnly))
        let (date, responses) = (read(\.date), read(\.responses))
        copy.change { state in
            state.anchors = anchors
            state.anchorsOnly = anchorsOnly
            state.date = date
            state.responses = responses
        }
        return copy.evaluated()
    }
}
