internal import Crypto
public import Foundation
package import TouchstoneCertificates
internal import TouchstoneCore
public import TouchstoneCoreFoundation
import TouchstoneInterfaces

/// An X.509 certificate.
///
/// Nothing about it is verified.
public final class SecCertificate: NSObject, CoreFoundationType, Sendable {
    /// What was read of it.
    package let value: Certificate

    package static let typeID: CFTypeID = 0x5443_4345

    init(_ value: Certificate) {
        self.value = value
    }

    /// Reads what an item keeps; nil if it is not a certificate.
    convenience init?(itemData: Data) {
        guard let value = Certificate(der: itemData) else { return nil }
        self.init(value)
    }

    /// The SHA-1 of the public key, by which an identity finds its key.
    var publicKeyHash: Data { Data(Insecure.SHA1.hash(data: value.publicKey.key)) }

    /// Whether another certificate has the same bytes.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is a certificate of the same bytes.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecCertificate)?.value.der == value.der
    }

    /// The hash of the bytes.
    public override var hash: Int { value.der.hashValue }

    /// Whose it is, in the words of `SecCertificateCopySubjectSummary`.
    public override var description: String {
        // Quoted, as they are somebody else's words.
        "<SecCertificate: \(value.summary.map { $0.debugDescription } ?? "no subject")>"
    }
}

extension SecCertificate: ItemReference {
    var itemClass: ItemClass { .certificate }

    var itemAttributes: KeychainInterface.Dictionary {
        var attributes: KeychainInterface.Dictionary = [
            .certificateType: .number(Int64(value.version)), .certificateEncoding: .number(Self.derEncoding),
            .serialNumber: .data(value.serialNumber), .publicKeyHash: .data(publicKeyHash),
        ]
        attributes[.subject] = value.subject.normalizedContent.map(AttributeValue.data)
        attributes[.issuer] = value.issuer.normalizedContent.map(AttributeValue.data)
        attributes[.subjectKeyID] = value.subjectKeyIdentifier.map(AttributeValue.data)
        return attributes
    }

    var inferredLabel: String? { value.summary }

    var itemData: Data? { value.der }

    private static let derEncoding: Int64 = 3
}

/// The type of `SecCertificate`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecCertificateGetTypeID() -> CFTypeID { SecCertificate.typeID }

/// Reads a certificate.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - data: The DER of one X.509 certificate. PEM is not read.
/// - Returns: The certificate; nil for anything else, also for one with bytes after its end.
@discardableResult
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    SecCertificate(itemData: data as Data)
}
