import Foundation
import Testing
import TouchstoneKeyAlgorithms

/// The vectors of Project Wycheproof that come with swift-crypto, through our own functions.
///
/// A file that has gone, or has no vectors, fails.
@Suite struct WycheproofTests {
    static let signatureFiles = [
        ("ecdsa_secp256r1_sha256", HashAlgorithm.sha256), ("ecdsa_secp256r1_sha512", .sha512),
        ("ecdsa_secp384r1_sha384", .sha384), ("ecdsa_secp384r1_sha512", .sha512), ("ecdsa_secp521r1_sha512", .sha512),
    ]

    @Test("SE-20: signatures, of which many are malformed", arguments: signatureFiles)
    func signatures(_ file: String, _ hash: HashAlgorithm) throws {
        for (suffix, encoding) in [("_test", ECDSASignatureEncoding.x962), ("_p1363_test", .rfc4754)] {
            var counts = [true: 0, false: 0]
            for group in try groups(file + suffix) {
                let fields = (group["publicKey"] ?? group["key"]) as? [String: Any]
                let point = Data(hex: try #require(fields?["uncompressed"] as? String))
                let key = try EllipticCurvePublicKey(x963Representation: point)
                for vector in group["tests"] as? [[String: Any]] ?? [] {
                    let message = Data(hex: try #require(vector["msg"] as? String))
                    let signature = Data(hex: try #require(vector["sig"] as? String))
                    let isValid = try key.isValidSignature(signature, for: message, .message(hash), encoding)
                    let result = try #require(vector["result"] as? String)
                    if result != "acceptable" {
                        #expect(isValid == (result == "valid"), "\(file + suffix) \(vector["tcId"] ?? "")")
                    }
                    counts[isValid, default: 0] += 1
                }
            }
            #expect(counts[true, default: 0] > 50 && counts[false, default: 0] > 20, "\(file + suffix): \(counts)")
        }
    }

    @Test("SE-22: key agreements", arguments: [EllipticCurve.p256, .p384, .p521])
    func keyAgreement(_ curve: EllipticCurve) throws {
        var counts = [true: 0, false: 0]
        for group in try groups("ecdh_secp\(curve.sizeInBits)r1_ecpoint_test") {
            for vector in group["tests"] as? [[String: Any]] ?? [] {
                let number = Data(hex: pad(try #require(vector["private"] as? String), curve.fieldSize))
                let point = Data(hex: try #require(vector["public"] as? String))
                let key = try EllipticCurvePrivateKey(curve, number: number)
                let secret = try? key.sharedSecret(with: EllipticCurvePublicKey(x963Representation: point))
                let shared = try #require(vector["shared"] as? String)
                switch vector["result"] as? String {
                case "valid": #expect(secret?.withUnsafeBytes { Data($0) }.hex == shared, "\(vector["tcId"] ?? "")")
                case "invalid": #expect(secret == nil, "\(vector["tcId"] ?? "")")
                // Compressed points: Apple reads none.
                default: #expect(secret == nil || secret?.withUnsafeBytes { Data($0) }.hex == shared)
                }
                counts[secret != nil, default: 0] += 1
            }
        }
        #expect(counts[true, default: 0] > 50 && counts[false, default: 0] > 2, "\(counts)")
    }

    private func groups(_ name: String) throws -> [[String: Any]] {
        // The build folder is wherever the tests were built.
        var folder = Bundle.module.bundleURL
        while folder.path != "/",
            !FileManager.default.fileExists(atPath: folder.appendingPathComponent("checkouts").path)
        {
            folder.deleteLastPathComponent()
        }
        let file = folder.appendingPathComponent("checkouts/swift-crypto/Tests/Test Vectors/\(name).json")
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        return try #require(object?["testGroups"] as? [[String: Any]])
    }

    /// A number in as many bytes as a coordinate has.
    private func pad(_ hex: String, _ count: Int) -> String {
        let digits = String(hex.drop { $0 == "0" })
        return String(repeating: "0", count: 2 * count - digits.count) + digits
    }
}
