package import SwiftASN1

// What a hostile file may hold is judged here: everything answers nil for what it is not.

extension ASN1Node {
    /// The parts of a constructed node that has this tag.
    package func children(_ identifier: ASN1Identifier) -> [ASN1Node]? {
        guard self.identifier == identifier, case .constructed(let nodes) = content else { return nil }
        return Array(nodes)
    }

    /// The contents of a primitive node that has this tag.
    package func bytes(_ identifier: ASN1Identifier) -> ArraySlice<UInt8>? {
        guard self.identifier == identifier, case .primitive(let bytes) = content else { return nil }
        return bytes
    }

    /// The whole bytes of a bit string, which is what a key or a signature is.
    package var bitStringBytes: ArraySlice<UInt8>? {
        guard let bytes = bytes(.bitString), bytes.first == 0 else { return nil }
        return bytes.dropFirst()
    }

    /// A truth value; DER has only 0 and 255.
    package var boolean: Bool? {
        switch bytes(.boolean).map(Array.init) {
        case [0]: false
        case [0xff]: true
        default: nil
        }
    }

    /// Whether this is an object identifier of these bytes.
    package func isObjectIdentifier(_ bytes: [UInt8]) -> Bool {
        self.bytes(.objectIdentifier).map { $0.elementsEqual(bytes) } ?? false
    }
}

extension ASN1Identifier {
    package static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}
