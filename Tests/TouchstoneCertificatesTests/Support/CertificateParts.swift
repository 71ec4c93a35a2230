import Foundation
import SwiftASN1

/// A certificate of parts that may be anything, to build what OpenSSL does not make.
struct CertificateParts {
    var version: [UInt8]? = [2]
    var serialNumber: [UInt8] = [1]
    var issuer: [UInt8] = name([[(commonName, .utf8String, Array("I".utf8))]])
    var subject: [UInt8] = name([[(commonName, .utf8String, Array("S".utf8))]])
    var notBefore: (ASN1Identifier, String) = (.utcTime, "010101000000Z")
    var notAfter: (ASN1Identifier, String) = (.utcTime, "020101000000Z")
    var extensions: [UInt8]?

    static let commonName: [UInt8] = [0x55, 0x04, 0x03]

    var der: Data {
        let algorithm = sequence(primitive(.objectIdentifier, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))
        let key =
            sequence(primitive(.objectIdentifier, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]))
            + primitive(.bitString, [0, 4, 1])
        let validity =
            primitive(notBefore.0, Array(notBefore.1.utf8)) + primitive(notAfter.0, Array(notAfter.1.utf8))
        var fields: [UInt8] = []
        if let version {
            fields += constructed(.init(tagWithNumber: 0, tagClass: .contextSpecific), primitive(.integer, version))
        }
        fields += primitive(.integer, serialNumber) + algorithm + issuer + sequence(validity) + subject + sequence(key)
        if let extensions { fields += constructed(.init(tagWithNumber: 3, tagClass: .contextSpecific), extensions) }
        return Data(sequence(sequence(fields) + algorithm + primitive(.bitString, [0, 1])))
    }

    static func name(_ relativeNames: [[(type: [UInt8], ASN1Identifier, [UInt8])]]) -> [UInt8] {
        sequence(
            relativeNames.flatMap { attributes in
                constructed(
                    .set, attributes.flatMap { sequence(primitive(.objectIdentifier, $0.type) + primitive($0.1, $0.2)) }
                )
            })
    }
}

func primitive(_ identifier: ASN1Identifier, _ bytes: [UInt8]) -> [UInt8] {
    var serializer = DER.Serializer()
    serializer.appendPrimitiveNode(identifier: identifier) { $0 += bytes }
    return serializer.serializedBytes
}

func constructed(_ identifier: ASN1Identifier, _ bytes: [UInt8]) -> [UInt8] {
    var serializer = DER.Serializer()
    serializer.appendConstructedNode(identifier: identifier) { $0.serializeRawBytes(bytes) }
    return serializer.serializedBytes
}

func sequence(_ bytes: [UInt8]) -> [UInt8] { constructed(.sequence, bytes) }
