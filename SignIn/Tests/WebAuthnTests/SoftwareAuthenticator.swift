import Crypto
import Foundation
import TouchstoneCBOR

@testable import WebAuthn

/// An authenticator and its browser in software, each of whose bytes a test may choose.
struct SoftwareAuthenticator {
    let key = P256.Signing.PrivateKey()
    var id = Data(repeating: 7, count: 32)
    var domain = "example.org"
    var origin = "https://example.org"
    var challenge = Data(repeating: 9, count: 32)
    var isCrossOrigin = false
    /// Present, verified.
    var flags: UInt8 = 0x05
    var counter: UInt32 = 0
    var format = "packed"
    /// Changed after it was made.
    var change: (inout [CBOR: CBOR]) -> Void = { _ in }
    var changeKey: (inout [CBOR: CBOR]) -> Void = { _ in }
    var trailing: [UInt8] = []
    var extensions: CBOR?

    func clientData(_ ceremony: ClientData.Ceremony) -> Data {
        let encoded = challenge.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        return Data(
            #"{"type":"\#(ceremony.rawValue)","challenge":"\#(encoded)","origin":"\#(origin)","crossOrigin":\#(isCrossOrigin)}"#
                .utf8)
    }

    func data(withCredential: Bool) -> Data {
        var flags = flags
        if withCredential { flags |= 0x40 }
        if extensions != nil { flags |= 0x80 }
        var data = Data(SHA256.hash(data: Data(domain.utf8))) + [flags]
        data += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        if withCredential {
            let point = key.publicKey.rawRepresentation
            var fields: [CBOR: CBOR] = [
                CBOR(1): CBOR(2), CBOR(3): CBOR(-7), CBOR(-1): CBOR(1), CBOR(-2): .bytes(Array(point.prefix(32))),
                CBOR(-3): .bytes(Array(point.suffix(32))),
            ]
            changeKey(&fields)
            data += [UInt8](repeating: 1, count: 16) + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id
            data += CBOR.map(fields).encoded
        }
        return data + (extensions?.encoded ?? []) + trailing
    }

    func sign(_ data: Data, _ ceremony: ClientData.Ceremony) throws -> Data {
        try key.signature(for: data + Data(SHA256.hash(data: clientData(ceremony)))).derRepresentation
    }

    func attestation(withCredential: Bool = true) throws -> Data {
        let data = data(withCredential: withCredential)
        let signature = Array(try sign(data, .registration))
        var statement: [CBOR: CBOR] =
            format == "packed" ? [.text("alg"): CBOR(-7), .text("sig"): .bytes(signature)] : [:]
        change(&statement)
        return Data(
            CBOR.map([
                .text("fmt"): .text(format), .text("attStmt"): .map(statement), .text("authData"): .bytes(Array(data)),
            ]).encoded)
    }
}
