package import Foundation
internal import SwiftASN1

/// The name of an issuer or of a subject.
package struct DistinguishedName: Hashable, Sendable {
    /// The DER of the name, a sequence.
    package let der: Data

    /// The contents of the normalized name: what the attributes `issr` and `subj` of an item are, which have no header of a sequence.
    ///
    /// Nil for a name that is not built as names are.
    package let normalizedContent: Data?

    /// The types and texts, in the order of the name; a text that cannot be read is nil.
    let attributes: [Attribute]

    struct Attribute: Hashable, Sendable {
        let type: [UInt8]
        let text: String?
    }

    /// Reads the DER of a name; nil for anything but a sequence.
    package init?(der: Data) {
        guard let node = try? DER.parse(Array(der)) else { return nil }
        self.init(node)
    }

    init?(_ node: ASN1Node) {
        guard let relativeNames = node.children(.sequence) else { return nil }
        der = Data(node.encodedBytes)
        let parts = Self.parts(relativeNames)
        attributes = (parts ?? []).joined().map { Attribute(type: $0.type, text: $0.value.text) }
        normalizedContent = parts.map(Self.normalize)
    }

    /// The DER of the normalized name.
    package var normalized: Data? {
        guard let normalizedContent else { return nil }
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) { $0.serializeRawBytes(normalizedContent) }
        return Data(serializer.serializedBytes)
    }

    /// The texts of all attributes of a type; nil if one of them cannot be read.
    func texts(_ type: [UInt8]) -> [String]? {
        let texts = attributes.filter { $0.type == type }.map(\.text)
        return texts.contains(nil) ? nil : texts.compactMap(\.self)
    }

    private struct Part {
        let type: [UInt8]
        let value: ASN1Node
    }

    private static func parts(_ relativeNames: [ASN1Node]) -> [[Part]]? {
        var result: [[Part]] = []
        for relativeName in relativeNames {
            guard let pairs = relativeName.children(.set), !pairs.isEmpty else { return nil }
            var parts: [Part] = []
            for pair in pairs {
                guard let fields = pair.children(.sequence), fields.count == 2,
                    let type = fields[0].bytes(.objectIdentifier), !type.isEmpty
                else { return nil }
                parts.append(Part(type: Array(type), value: fields[1]))
            }
            result.append(parts)
        }
        return result
    }

    /// Apple's normalization: printable strings in capitals, without spaces around them and with single ones inside; all else stays.
    private static func normalize(_ relativeNames: [[Part]]) -> Data {
        var serializer = DER.Serializer()
        for parts in relativeNames {
            serializer.appendConstructedNode(identifier: .set) { set in
                for part in parts {
                    set.appendConstructedNode(identifier: .sequence) { pair in
                        pair.appendPrimitiveNode(identifier: .objectIdentifier) { $0.append(contentsOf: part.type) }
                        if let text = part.value.bytes(.printableString) {
                            pair.appendPrimitiveNode(identifier: .printableString) {
                                $0.append(contentsOf: normalize(text))
                            }
                        } else {
                            pair.serializeRawBytes(part.value.encodedBytes)
                        }
                    }
                }
            }
        }
        return Data(serializer.serializedBytes)
    }

    private static func normalize(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return Array(words.joined(separator: [UInt8(ascii: " ")])).map { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & 0xdf : byte
        }
    }
}
