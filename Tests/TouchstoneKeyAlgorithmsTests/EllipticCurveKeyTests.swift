import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

@Suite struct EllipticCurveKeyTests {
    @Test(arguments: EllipticCurve.current)
    func pointsThatAreNoneAreRefused(_ curve: EllipticCurve) throws {
        let point = try EllipticCurvePrivateKey(curve).publicKey.x963Representation
        #expect(try EllipticCurvePublicKey(x963Representation: point).x963Representation == point)
        let size = curve.fieldSize
        let coordinates = Data(point.dropFirst())
        // The last has a coordinate of another point.
        let wrong: [Data] = [
            Data(), Data([0]), Data([4]), point.dropLast(), .joined(point, Data([0])),
            point.flippingBit(at: point.count - 1),
            .joined(Data([2]), coordinates.prefix(size)), .joined(Data([6]), coordinates),
            .joined(Data([7]), coordinates),
            .joined(Data([0]), coordinates), .joined(Data([4]), .filled(0, 2 * size)),
            .joined(Data([4]), .filled(0xff, 2 * size)), .filled(0, 1 << 20),
            .joined(
                point.prefix(1 + size), try EllipticCurvePrivateKey(curve).publicKey.x963Representation.suffix(size)),
        ]
        for point in wrong {
            #expect(throws: (any Error).self, "\(point.count) bytes") {
                try EllipticCurvePublicKey(x963Representation: Data(point))
            }
        }
    }

    @Test(arguments: EllipticCurve.current)
    func privateKeysThatAreNoneAreRefused(_ curve: EllipticCurve) throws {
        let key = try EllipticCurvePrivateKey(curve)
        let bytes = key.x963Representation
        let point = key.publicKey.x963Representation
        #expect(try EllipticCurvePrivateKey(x963Representation: bytes).x963Representation == bytes)
        let size = curve.fieldSize
        let other = try EllipticCurvePrivateKey(curve)
        let wrong: [Data] = [
            Data(), bytes.dropLast(), .joined(bytes, Data([0])), .joined(point, .filled(0, size)),
            .joined(point, .filled(0xff, size)), .joined(point, other.number),
            .joined(other.publicKey.x963Representation, key.number),
        ]
        for bytes in wrong {
            #expect(throws: (any Error).self) { try EllipticCurvePrivateKey(x963Representation: Data(bytes)) }
        }
    }

    @Test("SE-22: Python derives the same from a key agreement", arguments: EllipticCurve.current)
    func foreignKeyAgreement(_ curve: EllipticCurve) throws {
        let mine = try EllipticCurvePrivateKey(curve)
        let yours = try EllipticCurvePrivateKey(curve)
        let secret = try mine.sharedSecret(with: yours.publicKey)
        #expect(try yours.sharedSecret(with: mine.publicKey) == secret)
        let request: [String: Any] = [
            "operation": "agree", "curve": "\(curve)", "number": yours.number.hex,
            "point": mine.publicKey.x963Representation.hex,
        ]
        let info = Data.random(count: 21)
        let requests = HashAlgorithm.allCases.map {
            request.merging(["hash": $0.rawValue, "size": 77, "info": info.hex] as [String: Any]) { $1 }
        }
        let answers = try Foreign.python([request] + requests)
        #expect(answers[0] == secret.withUnsafeBytes { Data($0) })
        for (hash, answer) in zip(HashAlgorithm.allCases, answers.dropFirst()) {
            #expect(try hash.deriveKey(from: secret, info: info, byteCount: 77).withUnsafeBytes { Data($0) } == answer)
        }
    }

    @Test func aPointOfAnotherCurveIsRefused() {
        for mine in EllipticCurve.current {
            for yours in EllipticCurve.current where mine != yours {
                #expect(throws: Status.param) {
                    try EllipticCurvePrivateKey(mine).sharedSecret(with: EllipticCurvePrivateKey(yours).publicKey)
                }
            }
        }
    }
}
