import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

@Suite struct ECDSATests {
    static let inputs: [SignatureInput] =
        HashAlgorithm.allCases.map { .message($0) } + HashAlgorithm.allCases.map { .digest($0) }
    let message = Data("a nonce".utf8)

    private func data(_ input: SignatureInput) -> Data {
        switch input {
        case .message: message
        case .digest(let hash): hash?.hash(message) ?? message
        }
    }

    @Test("SE-20, SE-21: Python verifies what we sign, and we what it signs", arguments: EllipticCurve.current)
    func python(_ curve: EllipticCurve) throws {
        let key = try EllipticCurvePrivateKey(curve)
        let point = key.publicKey.x963Representation.hex
        let cases = Self.inputs.flatMap { input in [ECDSASignatureEncoding.x962, .rfc4754].map { (input, $0) } }
        let requests = try cases.flatMap { input, encoding in
            var isMessage = false
            if case .message = input { isMessage = true }
            let request: [String: Any] = [
                "curve": "\(curve)", "hash": input.hash?.rawValue ?? "", "isMessage": isMessage,
                "isRaw": encoding == .rfc4754,
                "data": data(input).hex, "number": key.number.hex, "point": point,
            ]
            let signature = try key.signature(for: data(input), input, encoding)
            return [
                request.merging(["operation": "ecdsa_sign"]) { $1 },
                request.merging(["operation": "ecdsa_verify", "signature": signature.hex]) { $1 },
                request.merging([
                    "operation": "ecdsa_verify", "signature": signature.hex,
                    "data": Data.random(count: data(input).count).hex,
                ]) { $1 },
            ]
        }
        var answers = try Foreign.python(requests).makeIterator()
        for (input, encoding) in cases {
            let signature = try #require(answers.next() ?? nil)
            #expect(
                try key.publicKey.isValidSignature(signature, for: data(input), input, encoding), "\(input) \(encoding)"
            )
            #expect(answers.next() == Data(), "ours, verified by Python: \(input) \(encoding)")
            #expect(answers.next() == .some(nil), "ours, of something else: \(input) \(encoding)")
        }
    }

    @Test("SE-20, SE-21: OpenSSL verifies what we sign, and we what it signs", arguments: EllipticCurve.current)
    func openSSL(_ curve: EllipticCurve) throws {
        let key = try EllipticCurvePrivateKey(curve)
        let (privatePEM, publicPEM) = key.pem
        let files = ["private.pem": Data(privatePEM.utf8), "public.pem": Data(publicPEM.utf8), "message": message]
        for hash in HashAlgorithm.allCases {
            let name = "-" + hash.rawValue.lowercased()
            for (input, data) in [
                (SignatureInput.message(hash), message), (.digest(hash), hash.hash(message)),
                (.digest(nil), hash.hash(message)),
            ] {
                let signature = try key.signature(for: data, input, .x962)
                let verify = ["dgst", name, "-verify", "public.pem", "-signature", "signature", "message"]
                #expect(try Foreign.openSSL(verify, files.merging(["signature": signature]) { $1 }) != nil, "\(input)")
                let other = files.merging(["signature": signature, "message": Data("another".utf8)]) { $1 }
                #expect(try Foreign.openSSL(verify, other) == nil)
                let theirs = try #require(
                    try Foreign.openSSL(["dgst", name, "-sign", "private.pem", "message"], files))
                #expect(try key.publicKey.isValidSignature(theirs, for: data, input, .x962), "\(input)")
            }
        }
    }

    @Test("SE-20: the lengths of signatures")
    func lengths() throws {
        for curve in EllipticCurve.current {
            let key = try EllipticCurvePrivateKey(curve)
            #expect(try key.signature(for: message, .message(.sha256), .rfc4754).count == 2 * curve.fieldSize)
            #expect(try key.signature(for: message, .message(.sha256), .x962).first == 0x30)
        }
    }

    @Test func digestsOfAWrongLengthAreRefused() throws {
        let key = try EllipticCurvePrivateKey(.p256)
        for hash in HashAlgorithm.allCases {
            for count in [0, 1, hash.byteCount - 1, hash.byteCount + 1, 1000] {
                #expect(throws: Status.param) { try key.signature(for: Data(count: count), .digest(hash), .x962) }
                #expect(throws: Status.param) {
                    try key.publicKey.isValidSignature(
                        Data(count: 64), for: Data(count: count), .digest(hash), .rfc4754)
                }
            }
        }
    }

    @Test("SE-21: a digest of any length can be signed, but not none")
    func digestsOfAnyLength() throws {
        for curve in EllipticCurve.current {
            let key = try EllipticCurvePrivateKey(curve)
            for count in [1, 20, 32, 33, 64, 65, 66, 67, 1000] {
                let digest = Data.random(count: count)
                let signature = try key.signature(for: digest, .digest(nil), .rfc4754)
                #expect(try key.publicKey.isValidSignature(signature, for: digest, .digest(nil), .rfc4754))
                #expect(
                    try !key.publicKey.isValidSignature(
                        signature, for: digest.flippingBit(at: 0), .digest(nil), .rfc4754))
            }
            #expect(throws: Status.param) { try key.signature(for: Data(), .digest(nil), .x962) }
            #expect(throws: Status.param) {
                try key.publicKey.isValidSignature(Data(), for: Data(), .digest(nil), .x962)
            }
        }
    }

    @Test(arguments: EllipticCurve.current)
    func whatIsNoSignatureIsNotValid(_ curve: EllipticCurve) throws {
        let key = try EllipticCurvePrivateKey(curve)
        let size = curve.fieldSize
        let raw = try key.signature(for: message, .message(.sha256), .rfc4754)
        let (r, s) = (Data(raw.prefix(size)), Data(raw.suffix(size)))
        let wrongRaw: [Data] = [
            Data(), .filled(0, 2 * size), .filled(0xff, 2 * size), raw.dropLast(), .joined(raw, Data([0])),
            .joined(Data([0]), raw), .joined(.filled(0, size), s), .joined(r, .filled(0, size)), .joined(s, r),
            .filled(0, 1 << 20),
        ]
        for signature in wrongRaw {
            #expect(try !key.publicKey.isValidSignature(signature, for: message, .message(.sha256), .rfc4754))
        }
        let der = try key.signature(for: message, .message(.sha256), .x962)
        let wrongDER: [Data] = [
            Data(), der.dropLast(), .joined(der, Data([0])), Data([0x30, 0]), Data([0x30, 0x80]),
            Data([0x30, 6, 2, 1, 0, 2, 1, 0]), Data([0x30, 6, 2, 1, 1, 2, 1, 0xff]),
            Data([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), raw, .filled(0, 1 << 20),
            // An r of 1022 bytes.
            .joined(Data([0x30, 0x82, 0x04, 0x05, 2, 0x82, 0x03, 0xfe]), .filled(0x7f, 1022), Data([2, 1, 1])),
        ]
        for signature in wrongDER {
            #expect(try !key.publicKey.isValidSignature(signature, for: message, .message(.sha256), .x962))
        }
        for index in raw.indices {
            #expect(
                try !key.publicKey.isValidSignature(
                    raw.flippingBit(at: index), for: message, .message(.sha256), .rfc4754))
        }
        #expect(
            try !EllipticCurvePrivateKey(curve).publicKey.isValidSignature(
                raw, for: message, .message(.sha256), .rfc4754))
    }
}

extension EllipticCurvePrivateKey {
    var pem: (private: String, public: String) {
        switch self {
        case .old: ("", "")
        case .p256(let key): (key.pemRepresentation, key.publicKey.pemRepresentation)
        case .p384(let key): (key.pemRepresentation, key.publicKey.pemRepresentation)
        case .p521(let key): (key.pemRepresentation, key.publicKey.pemRepresentation)
        }
    }
}
