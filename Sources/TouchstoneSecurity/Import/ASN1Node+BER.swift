internal import SwiftASN1
internal import TouchstoneCertificates

extension ASN1Node {
    /// The contents of an octet string that has this tag, joined where BER has it in pieces.
    func octets(_ identifier: ASN1Identifier) -> [UInt8]? {
        guard self.identifier == identifier else { return nil }
        switch content {
        case .primitive(let bytes): return Array(bytes)
        case .constructed(let pieces):
            var result: [UInt8] = []
            for piece in pieces {
                guard let bytes = piece.octets(.octetString) else { return nil }
                result += bytes
            }
            return result
        }
    }

    /// An integer from 1 to 2^31 - 1.
    var positiveInteger: Int? {
        guard let bytes = bytes(.integer), (1...4).contains(bytes.count), let first = bytes.first, first < 0x80 else {
            return nil
        }
        let number = bytes.reduce(0) { $0 << 8 | Int($1) }
        return number > 0 ? number : nil
    }
}
