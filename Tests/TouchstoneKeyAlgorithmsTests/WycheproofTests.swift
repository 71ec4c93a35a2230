import Crypto
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

    static let rsaSignatureFiles = [
        "rsa_signature_2048_sha256", "rsa_signature_2048_sha512", "rsa_signature_3072_sha256",
        "rsa_signature_3072_sha512", "rsa_signature_4096_sha512", "rsa_signature",
    ]

    @Test("RSA: PKCS#1 v1.5 signatures, of which most are malformed", arguments: rsaSignatureFiles)
    func rsaSignatures(_ file: String) throws {
        var counts = [true: 0, false: 0]
        for group in try groups("\(file)_test", extras: true) {
            let key = try RSAPublicKey(derRepresentation: Data(hex: text(group, "keyDer")))
            let hash = try #require(algorithm(group["sha"]))
            for vector in try vectors(group) {
                let isValid = try key.isValidSignature(
                    Data(hex: text(vector, "sig")), for: Data(hex: text(vector, "msg")), .pkcs1v15, .message(hash))
                try check(isValid, vector, file, &counts)
            }
        }
        #expect(counts[true, default: 0] >= 7 && counts[false, default: 0] >= 230, "\(file): \(counts)")
    }

    /// The salt of the first ones is as long as their hash, as Apple's algorithms have it, and that of the others is not.
    static let pssFiles = [
        ("rsa_pss_2048_sha1_mgf1_20", true), ("rsa_pss_2048_sha256_mgf1_32", true),
        ("rsa_pss_3072_sha256_mgf1_32", true),
        ("rsa_pss_4096_sha256_mgf1_32", true), ("rsa_pss_2048_sha256_mgf1_0", false),
        ("rsa_pss_4096_sha512_mgf1_32", false),
    ]

    @Test(
        "RSA: PSS signatures; one whose salt has another length is refused, though valid elsewhere", arguments: pssFiles
    )
    func pssSignatures(_ file: String, _ isOurs: Bool) throws {
        var counts = [true: 0, false: 0]
        for group in try groups("\(file)_test", extras: true) {
            let key = try RSAPublicKey(derRepresentation: Data(hex: text(group, "keyDer")))
            let hash = try #require(algorithm(group["sha"]))
            #expect((group["sLen"] as? Int == hash.byteCount) == isOurs)
            for vector in try vectors(group) {
                let isValid = try key.isValidSignature(
                    Data(hex: text(vector, "sig")), for: Data(hex: text(vector, "msg")), .pss, .message(hash))
                if isOurs {
                    try check(isValid, vector, file, &counts)
                } else {
                    // Among those that are wrong there is a signature whose salt is ours.
                    let hasOurSalt = try text(vector, "comment") == "s_len changed to \(hash.byteCount)"
                    #expect(isValid == hasOurSalt, "\(file) \(vector["tcId"] ?? "")")
                    counts[isValid, default: 0] += 1
                }
            }
        }
        #expect(!isOurs || counts[true, default: 0] > 40, "\(file): \(counts)")
        #expect(counts[false, default: 0] > 35, "\(file): \(counts)")
    }

    @Test(
        "RSA: OAEP; what has a label, or another hash for the mask, is refused",
        arguments: ["rsa_oaep_2048_sha1_mgf1sha1", "rsa_oaep_2048_sha256_mgf1sha256", "rsa_oaep_misc"])
    func oaep(_ file: String) throws {
        var counts = [true: 0, false: 0]
        for group in try groups("\(file)_test", extras: true) {
            let key = try RSAPrivateKey(derRepresentation: Data(hex: text(group, "privateKeyPkcs8")))
            let hash = try #require(algorithm(group["sha"]))
            let isOneHash = group["sha"] as? String == group["mgfSha"] as? String
            for vector in try vectors(group) {
                let plaintext = try? key.decrypt(Data(hex: text(vector, "ct")), .oaep(hash))
                if isOneHash, try text(vector, "label").isEmpty {
                    try check(plaintext != nil, vector, file, &counts)
                    if let plaintext { #expect(try plaintext.hex == text(vector, "msg")) }
                } else {
                    #expect(plaintext == nil, "\(file) \(vector["tcId"] ?? "")")
                    counts[false, default: 0] += 1
                }
            }
        }
        #expect(counts[true, default: 0] >= 10 && counts[false, default: 0] > 10, "\(file): \(counts)")
    }

    @Test("SE-31: AES-GCM with the cipher that ECIES has, among them vectors of 16 bytes")
    func aesGCM() throws {
        var counts: [Int: Int] = [:]
        for group in try groups("aes_gcm_test") {
            guard let keySize = group["keySize"] as? Int, [128, 256].contains(keySize) else { continue }
            for vector in try vectors(group) {
                let iv = try Data(hex: text(vector, "iv"))
                // Shorter ones swift-crypto refuses to make.
                guard iv.count >= 12 else { continue }
                let result = try text(vector, "result")
                let key = try SymmetricKey(data: Data(hex: text(vector, "key")))
                let (aad, ciphertext) = try (Data(hex: text(vector, "aad")), Data(hex: text(vector, "ct")))
                let nonce = try AES.GCM.Nonce(data: iv)
                let box = try AES.GCM.SealedBox(
                    nonce: nonce, ciphertext: ciphertext, tag: Data(hex: text(vector, "tag")))
                let opened = try? AES.GCM.open(box, using: key, authenticating: aad)
                #expect((opened != nil) == (result != "invalid"), "\(vector["tcId"] ?? "")")
                if let opened {
                    #expect(try opened.hex == text(vector, "msg"))
                    let sealed = try AES.GCM.seal(opened, using: key, nonce: nonce, authenticating: aad)
                    #expect(sealed.ciphertext == ciphertext && sealed.tag == box.tag)
                }
                counts[iv.count, default: 0] += 1
            }
        }
        #expect(counts[16, default: 0] >= 39 && counts[12, default: 0] > 100, "\(counts)")
    }

    private func groups(_ name: String, extras: Bool = false) throws -> [[String: Any]] {
        // The build folder is wherever the tests were built.
        var folder = Bundle.module.bundleURL
        while folder.path != "/",
            !FileManager.default.fileExists(atPath: folder.appendingPathComponent("checkouts").path)
        {
            folder.deleteLastPathComponent()
        }
        let place = extras ? "CryptoExtrasVectors" : "Test Vectors"
        let file = folder.appendingPathComponent("checkouts/swift-crypto/Tests/\(place)/\(name).json")
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        return try #require(object?["testGroups"] as? [[String: Any]])
    }

    /// Holds what we say of a vector against what it says of itself, and counts it.
    private func check(
        _ isValid: Bool, _ vector: [String: Any], _ file: String, _ counts: inout [Bool: Int]
    ) throws {
        let result = try text(vector, "result")
        if result != "acceptable" { #expect(isValid == (result == "valid"), "\(file) \(vector["tcId"] ?? "")") }
        counts[isValid, default: 0] += 1
    }

    private func vectors(_ group: [String: Any]) throws -> [[String: Any]] {
        let vectors = try #require(group["tests"] as? [[String: Any]])
        try #require(!vectors.isEmpty)
        return vectors
    }

    private func text(_ fields: [String: Any], _ name: String) throws -> String {
        try #require(fields[name] as? String, "\(name)")
    }

    private func algorithm(_ name: Any?) -> HashAlgorithm? {
        (name as? String).flatMap { HashAlgorithm(rawValue: $0.replacing("-", with: "")) }
    }

    /// A number in as many bytes as a coordinate has.
    private func pad(_ hex: String, _ count: Int) -> String {
        let digits = String(hex.drop { $0 == "0" })
        return String(repeating: "0", count: 2 * count - digits.count) + digits
    }
}
