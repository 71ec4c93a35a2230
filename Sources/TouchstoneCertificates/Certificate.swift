package import Foundation
internal import SwiftASN1

/// An X.509 certificate, read as far as the keychain needs it.
///
/// Nothing in it is verified: the maker of the bytes chose what they say.
package struct Certificate: Hashable, Sendable {
    /// The bytes it was read from.
    package let der: Data
    /// 1...3, as the attribute `ctyp` has it.
    package let version: Int
    /// The contents of the serial number, 1...37 bytes, as they are: a negative one keeps its sign.
    package let serialNumber: Data
    package let issuer: DistinguishedName
    package let subject: DistinguishedName
    /// Seconds from 2001-01-01 00:00:00 UTC.
    package let notBefore: Double
    /// Seconds from 2001-01-01 00:00:00 UTC; this second is still inside.
    package let notAfter: Double
    package let publicKey: SubjectPublicKeyInfo
    /// The contents of the extension that names the key.
    package let subjectKeyIdentifier: Data?
    private let alternativeNames: AlternativeNames

    /// Reads a certificate.
    ///
    /// Nil for anything but one whole certificate, also for one whose critical extensions of a known kind cannot be read.
    ///
    /// - Parameter der: DER from anywhere.
    package init?(der: Data) {
        guard let root = try? DER.parse(Array(der)), let signed = root.children(.sequence), signed.count == 3,
            AlgorithmIdentifier(signed[1]) != nil, let signature = signed[2].bytes(.bitString), !signature.isEmpty,
            let fields = signed[0].children(.sequence)
        else { return nil }
        var rest = fields[...]
        self.der = der

        var version = 1
        if let explicit = rest.first?.children(.context(0)) {
            // An explicit 0 is refused, as Apple does: DER leaves out a default.
            guard explicit.count == 1, let number = explicit[0].bytes(.integer), number.count == 1,
                let number = number.first, (1...2).contains(number)
            else { return nil }
            version = Int(number) + 1
            rest = rest.dropFirst()
        }
        self.version = version

        guard rest.count >= 6 else { return nil }
        let first = rest.startIndex
        guard let serialNumber = rest[first].bytes(.integer),
            (1...Self.longestSerialNumber).contains(serialNumber.count),
            AlgorithmIdentifier(rest[first + 1]) != nil,
            let issuer = DistinguishedName(rest[first + 2]),
            let validity = rest[first + 3].children(.sequence), validity.count == 2,
            let notBefore = validity[0].secondsSinceReferenceDate, let notAfter = validity[1].secondsSinceReferenceDate,
            let subject = DistinguishedName(rest[first + 4]),
            let publicKey = SubjectPublicKeyInfo(rest[first + 5])
        else { return nil }
        self.serialNumber = Data(serialNumber)
        self.issuer = issuer
        self.subject = subject
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.publicKey = publicKey
        rest = rest.dropFirst(6)

        // The unique identifiers of issuer and subject.
        for number: UInt in [1, 2] where rest.first?.identifier == .context(number) { rest = rest.dropFirst() }
        var known = Extensions()
        if let node = rest.first {
            guard rest.count == 1, let explicit = node.children(.context(3)), explicit.count == 1,
                let extensions = Extensions(explicit[0])
            else { return nil }
            known = extensions
        }
        subjectKeyIdentifier = known.subjectKeyIdentifier
        alternativeNames = known.alternativeNames
    }

    private static let longestSerialNumber = 37
}

extension Certificate {
    /// The last, which is the most specific, of the subject's common names; nil also where one of them cannot be read.
    package var commonName: String? {
        subject.texts(Self.commonNameType)?.last
    }

    /// The addresses of the alternative names and of the subject, empty if one of them cannot be read.
    package var emailAddresses: [String] {
        guard let alternative = alternativeNames.emailAddresses, let own = subject.texts(Self.emailAddressType) else {
            return []
        }
        return alternative + own
    }

    /// One line for people to know it by.
    ///
    /// The common name, with the description where there is one; else the unit, the organization, whatever else the subject says; of an
    /// empty subject the first e-mail address, else the first host. Several of a kind stand with the most specific first.
    package var summary: String? {
        guard subject.normalizedContent != nil else { return nil }
        let readable = subject.attributes.compactMap { attribute in attribute.text.map { (attribute.type, $0) } }
        func joined(_ isWanted: ([UInt8]) -> Bool) -> String? {
            let texts = readable.filter { isWanted($0.0) }.map(\.1)
            return texts.isEmpty ? nil : texts.reversed().joined(separator: ", ")
        }
        if let commonName = joined({ $0 == Self.commonNameType }) {
            return joined { $0 == Self.descriptionType }.map { "\(commonName) (\($0))" } ?? commonName
        }
        return joined { $0 == Self.organizationalUnitType } ?? joined { $0 == Self.organizationType }
            ?? joined { _ in true } ?? emailAddresses.first ?? alternativeNames.hostNames?.first
    }

    /// Whether a point in time lies in its validity.
    ///
    /// - Parameter date: Seconds from 2001-01-01 00:00:00 UTC.
    /// - Returns: Whether it does; both ends are inside.
    package func isValid(on date: Double) -> Bool {
        notBefore <= date && date <= notAfter
    }

    private static let commonNameType: [UInt8] = [0x55, 0x04, 0x03]
    private static let organizationType: [UInt8] = [0x55, 0x04, 0x0a]
    private static let organizationalUnitType: [UInt8] = [0x55, 0x04, 0x0b]
    private static let descriptionType: [UInt8] = [0x55, 0x04, 0x0d]
    private static let emailAddressType: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01]
}
