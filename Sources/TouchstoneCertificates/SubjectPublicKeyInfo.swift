package import Foundation
package import SwiftASN1

/// A public key and what it is for.
package struct SubjectPublicKeyInfo: Hashable, Sendable {
    /// The DER of the whole.
    package let der: Data
    /// The contents of the object identifier of the algorithm.
    package let algorithm: [UInt8]
    /// The DER of the algorithm's parameters, of a curve for example.
    package let parameters: Data?
    /// The key itself: PKCS#1 for RSA, X9.63 for elliptic curves.
    ///
    /// The attribute `pkhh` of an item is the SHA-1 of it.
    package let key: Data

    /// Reads DER; nil for anything else.
    package init?(der: Data) {
        guard let node = try? DER.parse(Array(der)) else { return nil }
        self.init(node)
    }

    package init?(_ node: ASN1Node) {
        guard let fields = node.children(.sequence), fields.count == 2,
            let algorithm = AlgorithmIdentifier(fields[0]), let key = fields[1].bitStringBytes
        else { return nil }
        der = Data(node.encodedBytes)
        self.algorithm = algorithm.algorithm
        parameters = algorithm.parameters.map { Data($0.encodedBytes) }
        self.key = Data(key)
    }
}

/// The name of an algorithm and its parameters.
package struct AlgorithmIdentifier: Hashable, Sendable {
    /// The contents of the object identifier.
    package let algorithm: [UInt8]
    package let parameters: ASN1Node?

    package init?(_ node: ASN1Node) {
        guard let fields = node.children(.sequence), (1...2).contains(fields.count),
            let algorithm = fields[0].bytes(.objectIdentifier), !algorithm.isEmpty
        else { return nil }
        self.algorithm = Array(algorithm)
        parameters = fields.count == 2 ? fields[1] : nil
    }
}
