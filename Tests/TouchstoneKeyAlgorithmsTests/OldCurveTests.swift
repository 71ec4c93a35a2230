import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

/// P-192 and P-224: what was made with them is read, and nothing new is made.
///
/// Python makes what is read here.
@Suite struct OldCurveTests {
    static let curves = EllipticCurve.allCases.filter(\.isOld)
    private static let orders: [EllipticCurve: String] = [
        .p192: "ffffffffffffffffffffffff99def836146bc9b1b4d22831",
        .p224: "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d",
    ]

    let message = Data("an old message".utf8)

    private func key(_ curve: EllipticCurve) throws -> EllipticCurvePrivateKey {
        // Less than the order: the order begins with 96 bits of 1.
        let number = Data.joined(Data([1]), .random(count: curve.fieldSize - 1))
        return try EllipticCurvePrivateKey(curve, number: number)
    }

    @Test func thereAreTwo() {
        #expect(Self.curves == [.p192, .p224])
        #expect(Set(EllipticCurve.current + Self.curves) == Set(EllipticCurve.allCases))
    }

    @Test(arguments: curves)
    func keysAreReadAndWritten(_ curve: EllipticCurve) throws {
        let key = try key(curve)
        let (bytes, point) = (key.x963Representation, key.publicKey.x963Representation)
        #expect(bytes.count == 1 + 3 * curve.fieldSize && point.count == 1 + 2 * curve.fieldSize)
        let again = try EllipticCurvePrivateKey(x963Representation: bytes)
        #expect(again.x963Representation == bytes && again.publicKey.curve == curve)
        #expect(try EllipticCurvePublicKey(x963Representation: point).x963Representation == point)
        // Slices are read from their start.
        #expect(
            try EllipticCurvePrivateKey(x963Representation: (Data([9]) + bytes).dropFirst()).publicKey.curve == curve)
        #expect(try EllipticCurvePublicKey(x963Representation: (Data([9]) + point).dropFirst()).curve == curve)
    }

    @Test(arguments: curves)
    func pointsThatAreNoneAreRefused(_ curve: EllipticCurve) throws {
        let point = try key(curve).publicKey.x963Representation
        let size = curve.fieldSize
        let coordinates = Data(point.dropFirst())
        // The point at infinity is one byte of 0; the last has a coordinate of another point.
        let wrong: [Data] = [
            Data(), Data([0]), Data([4]), point.dropLast(), .joined(point, Data([0])),
            point.flippingBit(at: point.count - 1), point.flippingBit(at: 1),
            .joined(Data([2]), coordinates.prefix(size)), .joined(Data([2]), coordinates),
            .joined(Data([6]), coordinates), .joined(Data([7]), coordinates), .joined(Data([0]), coordinates),
            .joined(Data([4]), .filled(0, 2 * size)), .joined(Data([4]), .filled(0xff, 2 * size)),
            .joined(point.prefix(1 + size), try key(curve).publicKey.x963Representation.suffix(size)),
        ]
        for point in wrong {
            #expect(throws: (any Error).self, "\(point.hex)") {
                try EllipticCurvePublicKey(x963Representation: Data(point))
            }
        }
    }

    @Test(arguments: curves)
    func privateKeysThatAreNoneAreRefused(_ curve: EllipticCurve) throws {
        let size = curve.fieldSize
        let order = Data(hex: try #require(Self.orders[curve]))
        let (first, last) = (
            Data.joined(.filled(0, size - 1), Data([1])), Data(order.dropLast() + [order[size - 1] - 1])
        )
        for number in [
            .filled(0, size), order, .filled(0xff, size), Data(), first.dropLast(), .joined(Data([0]), first),
        ] {
            #expect(throws: Status.param, "\(number.hex)") { try EllipticCurvePrivateKey(curve, number: number) }
        }
        // The least and the greatest lead to the generator and to its opposite.
        let (one, another) = try (
            EllipticCurvePrivateKey(curve, number: first), EllipticCurvePrivateKey(curve, number: last)
        )
        let (points) = [one, another].map { $0.publicKey.x963Representation.dropFirst().prefix(size) }
        #expect(points[0] == points[1] && one.publicKey.x963Representation != another.publicKey.x963Representation)
        let (key, other) = try (key(curve), key(curve))
        let point = key.publicKey.x963Representation
        for bytes in [
            .joined(point, other.number), .joined(other.publicKey.x963Representation, key.number),
            .joined(point, .filled(0, size)), .joined(point, order), key.x963Representation.dropLast(),
            .joined(key.x963Representation, Data([0])),
        ] {
            #expect(throws: (any Error).self) { try EllipticCurvePrivateKey(x963Representation: Data(bytes)) }
        }
    }

    @Test("SE-20, SE-21: what Python signs is verified, in both forms, and nothing else", arguments: curves)
    func verification(_ curve: EllipticCurve) throws {
        let (key, other) = try (key(curve), key(curve))
        let inputs = HashAlgorithm.allCases.flatMap { [SignatureInput.message($0), .digest($0)] }
        let cases = inputs.flatMap { input in [ECDSASignatureEncoding.x962, .rfc4754].map { (input, $0) } }
        let requests = cases.map { input, encoding -> [String: Any] in
            [
                "operation": "ecdsa_sign", "curve": "\(curve)", "hash": input.hash?.rawValue ?? "",
                "isMessage": input == input.hash.map { .message($0) }, "isRaw": encoding == .rfc4754,
                "data": data(input).hex, "number": key.number.hex,
            ]
        }
        let answers = try Foreign.python(requests)
        try #require(answers.count == cases.count && cases.count == 20)
        for ((input, encoding), answer) in zip(cases, answers) {
            let signature = try #require(answer)
            let data = data(input)
            #expect(try key.publicKey.isValidSignature(signature, for: data, input, encoding), "\(input) \(encoding)")
            if case .digest = input {
                #expect(try key.publicKey.isValidSignature(signature, for: data, .digest(nil), encoding))
                #expect(try !key.publicKey.isValidSignature(signature, for: data.flippingBit(at: 0), input, encoding))
            } else {
                #expect(try !key.publicKey.isValidSignature(signature, for: data + [0], input, encoding))
            }
            #expect(try !other.publicKey.isValidSignature(signature, for: data, input, encoding))
            let otherEncoding = encoding == .x962 ? ECDSASignatureEncoding.rfc4754 : .x962
            #expect(try !key.publicKey.isValidSignature(signature, for: data, input, otherEncoding))
        }
    }

    @Test("SE-20, SE-21: the published signatures of RFC 6979 are valid, and their numbers lead to their points")
    func publishedSignatures() throws {
        struct Curve: Decodable {
            let number, point: String
            let signatures: [String: String]
        }
        struct Curves: Decodable { let curves: [Curve] }
        let curves = try JSONDecoder().decode(
            Curves.self, from: Data(contentsOf: Foreign.fixture("old_curve_signatures", "json"))
        ).curves
        #expect(curves.count == 2)
        for vector in curves {
            let bytes = Data(hex: vector.point + vector.number)
            let key = try EllipticCurvePrivateKey(x963Representation: bytes)
            #expect(key.publicKey.curve.isOld && key.x963Representation == bytes)
            #expect(vector.signatures.count == 5)
            for (name, text) in vector.signatures {
                let input = SignatureInput.message(try #require(HashAlgorithm(rawValue: name)))
                let signature = Data(hex: text)
                #expect(
                    try key.publicKey.isValidSignature(signature, for: Data("sample".utf8), input, .rfc4754), "\(name)")
                #expect(try !key.publicKey.isValidSignature(signature, for: Data("test".utf8), input, .rfc4754))
            }
        }
    }

    @Test("SE-21: a digest of a wrong length, or of none, is refused", arguments: curves)
    func digestsOfAWrongLengthAreRefused(_ curve: EllipticCurve) throws {
        let key = try key(curve).publicKey
        for hash in HashAlgorithm.allCases {
            for count in [0, 1, hash.byteCount - 1, hash.byteCount + 1] {
                #expect(throws: Status.param) {
                    try key.isValidSignature(Data(count: 56), for: Data(count: count), .digest(hash), .rfc4754)
                }
            }
        }
        #expect(throws: Status.param) { try key.isValidSignature(Data(), for: Data(), .digest(nil), .x962) }
    }

    @Test(arguments: curves)
    func whatIsNoSignatureIsNotValid(_ curve: EllipticCurve) throws {
        let key = try key(curve)
        let size = curve.fieldSize
        let request: [String: Any] = [
            "operation": "ecdsa_sign", "curve": "\(curve)", "hash": "SHA256", "isMessage": true, "isRaw": true,
            "data": message.hex, "number": key.number.hex,
        ]
        let raw = try #require(try Foreign.python([request])[0])
        let order = Data(hex: try #require(Self.orders[curve]))
        let (r, s) = (Data(raw.prefix(size)), Data(raw.suffix(size)))
        let wrongRaw: [Data] = [
            Data(), .filled(0, 2 * size), .filled(0xff, 2 * size), raw.dropLast(), .joined(raw, Data([0])),
            .joined(Data([0]), raw), .joined(.filled(0, size), s), .joined(r, .filled(0, size)), .joined(s, r),
            .joined(order, s), .joined(r, order), .filled(0, 1 << 20),
        ]
        for signature in wrongRaw + raw.indices.map({ raw.flippingBit(at: $0) }) {
            #expect(try !key.publicKey.isValidSignature(Data(signature), for: message, .message(.sha256), .rfc4754))
        }
        let (rDigits, sDigits) = (Self.digits(r), Self.digits(s))
        let der = Self.der(rDigits, sDigits)
        #expect(try key.publicKey.isValidSignature(der, for: message, .message(.sha256), .x962))
        let zero = Data([0])
        // Zeros in front that are not needed, and invalid numbers: missing, below zero or too large.
        let wrongDER: [Data] = [
            Self.der(.joined(zero, rDigits), sDigits), Self.der(rDigits, .joined(zero, sDigits)),
            Self.der(rDigits, Data([0xff])), Self.der(Data(), sDigits), Self.der(rDigits, zero),
            Self.der(.joined(zero, .filled(0xff, size)), sDigits), Self.der(rDigits, .joined(Data([1]), s)),
            Data(), der.dropLast(), .joined(der, Data([0])), Data([0x30, 0]), Data([0x30, 0x80]),
            Data([0x30, 6, 2, 1, 0, 2, 1, 0]), Data([0x30, 6, 2, 1, 1, 2, 1, 0xff]), Data([0x30, 4, 2, 0, 2, 0]),
            Data([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), raw, .filled(0, 1 << 20),
            .joined(Data([0x30, 0x81, der[1]]), der.dropFirst(2)),
        ]
        for signature in wrongDER {
            #expect(try !key.publicKey.isValidSignature(Data(signature), for: message, .message(.sha256), .x962))
        }
    }

    @Test("SE-20: of altered DER, Python takes and refuses the same", arguments: curves)
    func alteredDER(_ curve: EllipticCurve) throws {
        let key = try key(curve)
        let common: [String: Any] = [
            "curve": "\(curve)", "hash": "SHA1", "isMessage": true, "isRaw": false, "data": message.hex,
            "number": key.number.hex, "point": key.publicKey.x963Representation.hex,
        ]
        // Several, so that there are numbers with a zero in front and without.
        let signatures = try Foreign.python(
            (0..<8).map { _ in common.merging(["operation": "ecdsa_sign"]) { $1 } }
        ).compactMap(\.self)
        try #require(signatures.count == 8)
        var generator = SeededGenerator(state: 192)
        let altered = signatures.flatMap { signature in
            [signature] + (0..<120).map { _ in signature.altered(with: &generator) }
        }
        let answers = try Foreign.python(
            altered.map { common.merging(["operation": "ecdsa_verify", "signature": $0.hex]) { $1 } })
        var valid = 0
        for (signature, answer) in zip(altered, answers) {
            let isValid = try key.publicKey.isValidSignature(signature, for: message, .message(.sha1), .x962)
            #expect(isValid == (answer != nil), "\(signature.hex)")
            if isValid { valid += 1 }
        }
        #expect(valid >= 8 && valid < altered.count / 2, "\(valid)")
    }

    @Test("SE-30: what Python encrypts is decrypted with every hash and both vectors", arguments: curves)
    func decryption(_ curve: EllipticCurve) throws {
        let (key, other) = try (key(curve), key(curve))
        let plaintexts = [Data(), Data("hello".utf8), Data.random(count: 5000)]
        let cases = ECIESTests.all.flatMap { scheme in plaintexts.map { (scheme, $0) } }
        let answers = try Foreign.python(
            cases.map { scheme, plaintext -> [String: Any] in
                [
                    "operation": "ecies_encrypt", "curve": "\(curve)", "hash": scheme.hash.rawValue,
                    "derivesVector": scheme.initializationVector == .derived, "data": plaintext.hex,
                    "point": key.publicKey.x963Representation.hex,
                ]
            })
        for ((scheme, plaintext), answer) in zip(cases, answers) {
            let ciphertext = try #require(answer)
            #expect(try key.decrypt(ciphertext, scheme) == plaintext)
            #expect(throws: Status.param) { try other.decrypt(ciphertext, scheme) }
            for count in [0, 1, 16, 2 * curve.fieldSize, ciphertext.count - 1] {
                #expect(throws: Status.param) { try key.decrypt(ciphertext.prefix(count), scheme) }
            }
            #expect(throws: Status.param) { try key.decrypt(ciphertext + [0], scheme) }
        }
    }

    @Test("SE-33: any byte of a ciphertext that is changed is noticed", arguments: curves)
    func alteredCiphertext(_ curve: EllipticCurve) throws {
        let key = try key(curve)
        let request: [String: Any] = [
            "operation": "ecies_encrypt", "curve": "\(curve)", "hash": "SHA256", "derivesVector": false,
            "data": message.hex, "point": key.publicKey.x963Representation.hex,
        ]
        let ciphertext = try #require(try Foreign.python([request])[0])
        let scheme = ECIES(hash: .sha256, initializationVector: .zero)
        #expect(try key.decrypt(ciphertext, scheme) == message)
        for index in ciphertext.indices {
            #expect(throws: Status.param, "byte \(index)") {
                try key.decrypt(ciphertext.flippingBit(at: index), scheme)
            }
        }
    }

    @Test("SE-22: Python agrees on the same secret; a point of another curve is refused", arguments: curves)
    func keyAgreement(_ curve: EllipticCurve) throws {
        for _ in 0..<20 {
            let (mine, yours) = try (key(curve), key(curve))
            let secret = try mine.sharedSecret(with: yours.publicKey)
            #expect(try yours.sharedSecret(with: mine.publicKey) == secret)
            let request = [
                "operation": "agree", "curve": "\(curve)", "number": yours.number.hex,
                "point": mine.publicKey.x963Representation.hex,
            ]
            #expect(try Foreign.python([request])[0] == secret.withUnsafeBytes { Data($0) })
        }
        let key = try key(curve)
        for other in EllipticCurve.allCases where other != curve {
            let point = other.isOld ? try self.key(other).publicKey : try EllipticCurvePrivateKey(other).publicKey
            #expect(throws: Status.param) { try key.sharedSecret(with: point) }
            if !other.isOld {
                #expect(throws: Status.param) { try EllipticCurvePrivateKey(other).sharedSecret(with: key.publicKey) }
            }
        }
    }

    @Test(arguments: curves)
    func nothingNewIsMade(_ curve: EllipticCurve) throws {
        let key = try key(curve)
        #expect(throws: Status.keySizeNotAllowed) { try EllipticCurvePrivateKey(curve) }
        #expect(throws: Status.param) { try key.signature(for: message, .message(.sha256), .x962) }
        for scheme in ECIESTests.all {
            #expect(throws: Status.param) { try scheme.encrypt(message, to: key.publicKey) }
            #expect(throws: Status.param) { try scheme.encrypt(message, to: key.publicKey, ephemeral: self.key(curve)) }
        }
    }

    /// What DER writes of a number that is not below zero.
    private static func digits(_ number: Data) -> Data {
        let digits = number.drop { $0 == 0 }
        return (digits.first ?? 0x80) >= 0x80 ? .joined(Data([0]), Data(digits)) : Data(digits)
    }

    private static func der(_ r: Data, _ s: Data) -> Data {
        let content = Data.joined(Data([2, UInt8(r.count)]), r, Data([2, UInt8(s.count)]), s)
        return .joined(Data([0x30, UInt8(content.count)]), content)
    }

    private func data(_ input: SignatureInput) -> Data {
        switch input {
        case .message: message
        case .digest(let hash): hash?.hash(message) ?? message
        }
    }
}

/// Numbers that are the same in every run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }
}

extension Data {
    /// A byte changed, gone or put in, one to three times, the first ones, where the structure is, more often.
    func altered(with generator: inout SeededGenerator) -> Data {
        var bytes = [UInt8](self)
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
            let end = Bool.random(using: &generator) ? Swift.min(6, bytes.count) : bytes.count
            let index = Int.random(in: 0..<end, using: &generator)
            let value =
                [0x00, 0x01, 0x02, 0x80, 0xff, bytes[index] &+ 1, UInt8.random(in: 0...255, using: &generator)]
                .randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.remove(at: index)
            case 1: bytes.insert(value, at: index)
            default: bytes[index] = value
            }
        }
        return Data(bytes)
    }
}
