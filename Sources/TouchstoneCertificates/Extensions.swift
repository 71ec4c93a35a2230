internal import Foundation
internal import SwiftASN1

/// The extensions that the keychain reads.
struct Extensions {
    private(set) var subjectKeyIdentifier: Data?
    private(set) var alternativeNames = AlternativeNames()

    init() {}

    /// Nil for what is not a list of extensions, and for a critical one of a kind we know that cannot be read.
    init?(_ node: ASN1Node) {
        guard let extensions = node.children(.sequence), !extensions.isEmpty else { return nil }
        for node in extensions {
            guard let fields = node.children(.sequence), (2...3).contains(fields.count),
                let type = fields[0].bytes(.objectIdentifier), !type.isEmpty,
                let value = fields[fields.count - 1].bytes(.octetString)
            else { return nil }
            var isCritical = false
            if fields.count == 3 {
                guard let boolean = fields[1].boolean else { return nil }
                isCritical = boolean
            }
            guard read(Array(type), value) || !isCritical else { return nil }
        }
    }

    /// Whether it could be read; what is unknown is not looked at.
    private mutating func read(_ type: [UInt8], _ value: ArraySlice<UInt8>) -> Bool {
        switch type {
        case [0x55, 0x1d, 0x0e]:
            guard let bytes = (try? DER.parse(value))?.bytes(.octetString) else { return false }
            subjectKeyIdentifier = Data(bytes)
            return true
        case [0x55, 0x1d, 0x11]:
            guard let names = (try? DER.parse(value))?.children(.sequence) else { return false }
            alternativeNames = AlternativeNames(names)
            return true
        default: return true
        }
    }
}

/// Other names of a subject.
///
/// A list is nil if one of its names cannot be read.
struct AlternativeNames: Hashable, Sendable {
    private(set) var emailAddresses: [String]? = []
    private(set) var hostNames: [String]? = []

    init() {}

    init(_ names: [ASN1Node]) {
        emailAddresses = Self.texts(names, .context(1))
        hostNames = Self.texts(names, .context(2))
    }

    private static func texts(_ names: [ASN1Node], _ identifier: ASN1Identifier) -> [String]? {
        let texts = names.filter { $0.identifier == identifier }.map { $0.bytes(identifier).flatMap(ASN1Node.ascii) }
        return texts.contains(nil) ? nil : texts.compactMap(\.self)
    }
}
