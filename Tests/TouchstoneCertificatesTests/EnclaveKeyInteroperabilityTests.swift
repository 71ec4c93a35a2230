import Foundation
import Testing
import TouchstoneKeyAlgorithms
import TouchstoneTesting

@testable import TouchstoneSecurity

/// Keys of the enclave, through Apple's functions, against OpenSSL and Python.
@Suite struct EnclaveKeyInteroperabilityTests {
    private let openssl: OpenSSL
    private let device: SimulatedDevice
    private let key: SecKey
    private let point: Data
    private let message = Data("a server's nonce".utf8)

    init() throws {
        openssl = try OpenSSL()
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
        key = try device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .privateKeyUsage, nil))
            let half = [kSecAttrIsPermanent: false, kSecAttrAccessControl: control] as [CFString: Any]
            return try #require(
                SecKeyCreateRandomKey(
                    [
                        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
                        kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: half,
                    ] as CFDictionary, nil))
        }
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        point = try #require(SecKeyCopyExternalRepresentation(publicKey, nil)) as Data
        // SE-08: what servers take.
        let info = Data(hex: "3059301306072a8648ce3d020106082a8648ce3d030107034200") + point
        try openssl.write(info, "public.der")
        let lines = info.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        try openssl.write(Data("-----BEGIN PUBLIC KEY-----\n\(lines)\n-----END PUBLIC KEY-----\n".utf8), "public.pem")
    }

    @Test("SE-08: OpenSSL and Python read the public key, as DER and as PEM")
    func publicKey() throws {
        for (form, file) in [("DER", "public.der"), ("PEM", "public.pem")] {
            try openssl("pkey", "-pubin", "-inform", form, "-in", file, "-pubcheck", "-noout")
            try openssl("pkey", "-pubin", "-inform", form, "-in", file, "-outform", "DER", "-out", "again.der")
            #expect(try openssl["again.der"] == openssl["public.der"])
        }
        let read = try ["public.der", "public.pem"].map { file in
            ["operation": "public_point", "data": try openssl[file].hex] as [String: Any]
        }
        let cut = ["operation": "public_point", "data": try openssl["public.der"].dropLast().hex] as [String: Any]
        #expect(try Python.answers(read + [cut], openssl) == [point, point, nil])
    }

    /// Names as `foreign.py` has them, of every hash: algorithm, hash, of a message, r and s.
    private var signatures: [(SecKeyAlgorithm, HashAlgorithm, Bool, Bool)] {
        HashAlgorithm.allCases.flatMap { hash in
            [("message", true), ("digest", false)].flatMap { kind, isMessage in
                [("X962", false), ("RFC4754", true)].map { encoding, isRaw in
                    (SecKeyAlgorithm("algid:sign:ECDSA:\(kind)-\(encoding):\(hash.rawValue)"), hash, isMessage, isRaw)
                }
            }
        }
    }

    @Test(
        "SE-20, SE-21: OpenSSL and Python verify every signature: of messages and digests, X9.62 and RFC 4754, every hash"
    )
    func everySignature() throws {
        var requests: [[String: Any]] = []
        for (algorithm, hash, isMessage, isRaw) in signatures {
            let data = isMessage ? message : hash.hash(message)
            let signature = try sign(data, algorithm)
            #expect(isRaw ? signature.count == 64 : signature.first == 0x30)
            let request: [String: Any] = [
                "operation": "ecdsa_verify", "curve": "p256", "point": point.hex, "hash": hash.rawValue,
                "isMessage": isMessage, "isRaw": isRaw, "data": data.hex, "signature": signature.hex,
            ]
            requests += [request, request.merging(["data": Data(data.reversed()).hex]) { $1 }]
            try openssl.write(message, "message")
            try openssl.write(isRaw ? der(signature) : signature, "signature")
            let verify = ["dgst", "-\(hash.rawValue.lowercased())", "-verify", "public.pem", "-signature", "signature"]
            try openssl.run(verify + ["message"])
            try openssl.write(message + [0], "message")
            #expect(throws: OpenSSL.Failed.self) { try openssl.run(verify + ["message"]) }
        }
        #expect(signatures.count == 20)
        #expect(
            try Python.answers(requests, openssl).map { $0 == Data() } == signatures.flatMap { _ in [true, false] })
    }

    @Test("SE-20: a digest of no hash that is named, in both forms and by the old name")
    func plainDigests() throws {
        let digest = HashAlgorithm.sha256.hash(message)
        try openssl.write(digest, "digest")
        for (algorithm, isRaw) in [
            (SecKeyAlgorithm.ecdsaSignatureDigestX962, false), (.ecdsaSignatureDigestRFC4754, true),
            (.ecdsaSignatureRFC4754, true),
        ] {
            let signature = try sign(digest, algorithm)
            try openssl.write(isRaw ? der(signature) : signature, "signature")
            try openssl(
                "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-sigfile", "signature", "-in", "digest")
        }
    }

    @Test("SE-30, SE-31: the enclave's key decrypts what Python encrypts, with every ECIES algorithm")
    func everyEncryption() throws {
        var cases: [(SecKeyAlgorithm, Data)] = []
        var requests: [[String: Any]] = []
        for hash in HashAlgorithm.allCases {
            for suffix in hash == .sha1 ? ["AESGCM"] : ["AESGCM", "AESGCM-KDFIV"] {
                for agreement in ["ECDH", "ECDHC"] {
                    for plaintext in [Data(), Data("a note".utf8), Data(repeating: 0xA5, count: 5000)] {
                        cases.append(
                            (
                                SecKeyAlgorithm("algid:encrypt:ECIES:\(agreement):KDFX963:\(hash.rawValue):\(suffix)"),
                                plaintext
                            ))
                        requests.append([
                            "operation": "ecies_encrypt", "curve": "p256", "point": point.hex, "hash": hash.rawValue,
                            "derivesVector": suffix == "AESGCM-KDFIV", "data": plaintext.hex,
                        ])
                    }
                }
            }
        }
        #expect(cases.count == 18 * 3)
        let ciphertexts = try Python.answers(requests, openssl)
        for ((algorithm, plaintext), ciphertext) in zip(cases, ciphertexts) {
            let ciphertext = try #require(ciphertext)
            #expect(decrypt(ciphertext, algorithm) == .success(plaintext), "\(algorithm.rawValue)")
            #expect(decrypt(ciphertext.dropLast(), algorithm) == .failure(errSecParam), "\(algorithm.rawValue)")
        }
    }

    @Test("SE-22: the enclave's key and OpenSSL agree, by the coordinate and with the derivation of every hash")
    func everyExchange() throws {
        try openssl.makeKey("other", .p256)
        let otherPoint = try openssl.keyBytes(.p256, "other").public
        let other = try #require(publicKey(otherPoint))
        try openssl("pkeyutl", "-derive", "-inkey", "other.key", "-peerkey", "public.pem", "-out", "secret")
        let secret = try openssl["secret"]
        for agreement in ["ECDH", "ECDHC"] {
            let plain = SecKeyAlgorithm("algid:keyexchange:\(agreement)")
            #expect(exchange(plain, other, [:]) == .success(secret))
            for hash in HashAlgorithm.allCases {
                let algorithm = SecKeyAlgorithm("algid:keyexchange:\(agreement):KDFX963:\(hash.rawValue)")
                for (size, info) in [(16, Data()), (40, Data("info".utf8)), (200, Data(count: 70))] {
                    var options = ["-kdfopt", "digest:\(hash.rawValue)", "-kdfopt", "hexsecret:\(secret.hex)"]
                    if !info.isEmpty { options += ["-kdfopt", "hexinfo:\(info.hex)"] }
                    try openssl.run(
                        ["kdf", "-keylen", "\(size)", "-binary", "-out", "derived"] + options + ["X963KDF"])
                    let parameters: [CFString: Any] = [
                        SecKeyKeyExchangeParameter.requestedSize.rawValue: size,
                        SecKeyKeyExchangeParameter.sharedInfo.rawValue: info,
                    ]
                    #expect(try exchange(algorithm, other, parameters) == .success(openssl["derived"]))
                }
                #expect(exchange(algorithm, other, [:]) == .failure(errSecParam))
            }
        }
    }

    /// What is not a point of the curve, in as many bytes as one or in others.
    private var malformedPoints: [(String, Data)] {
        [
            ("nothing", Data()), ("infinity", Data([0])), ("infinity in full", Data(count: 65)),
            ("zeros", Data([4]) + Data(count: 64)), ("no coordinates", Data([4]) + Data(repeating: 0xFF, count: 64)),
            ("off the curve", point.dropLast() + [point[point.endIndex - 1] ^ 1]),
            ("compressed", Data([2 + (point.last ?? 0) & 1]) + point[1..<33]),
            ("hybrid", Data([6 + (point.last ?? 0) & 1]) + point.dropFirst()), ("cut", Data(point.dropLast())),
            ("a trailing byte", point + [0]), ("a leading byte", [0] + point),
            ("of another curve", Data([4]) + Data(repeating: 1, count: 96)), ("huge", Data(count: 1 << 20)),
        ]
    }

    @Test("SE-33: invalid points, trailing bytes and impossible lengths are -50, wherever they are given")
    func malformedInput() throws {
        let scheme = SecKeyAlgorithm.eciesEncryptionStandardVariableIVX963SHA256AESGCM
        for (what, bytes) in malformedPoints {
            #expect(publicKey(bytes) == nil, "\(what)")
            #expect(decrypt(bytes + Data(count: 40), scheme) == .failure(errSecParam), "\(what)")
        }
        for count in [0, 16, 64, 65, 80, 81, 1 << 20] {
            #expect(decrypt(Data(count: count), scheme) == .failure(errSecParam), "\(count) zeros")
        }
        // Of digests, no other length than the hash's, and not none; of messages any.
        for count in [0, 1, 31, 33, 1 << 20] {
            #expect(throws: OSStatusError(errSecParam)) {
                try sign(Data(count: count), .ecdsaSignatureDigestX962SHA256)
            }
        }
        #expect(throws: OSStatusError(errSecParam)) { try sign(Data(), .ecdsaSignatureDigestX962) }
        #expect(try sign(Data(), .ecdsaSignatureMessageX962SHA256).isEmpty == false)
        #expect(try sign(Data(count: 1 << 20), .ecdsaSignatureMessageX962SHA256).isEmpty == false)
    }

    // MARK: - The functions with their errors as values

    private struct OSStatusError: Error, Equatable {
        let status: OSStatus

        init(_ status: OSStatus) { self.status = status }
    }

    private enum Outcome: Equatable {
        case success(Data)
        case failure(OSStatus?)

        init(_ data: CFData?, _ error: Unmanaged<CFError>?) {
            let status = error.map { OSStatus(($0.takeRetainedValue() as NSError).code) }
            self = data.map { .success($0 as Data) } ?? .failure(status)
        }
    }

    private func sign(_ data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        let outcome = device.run {
            var error: Unmanaged<CFError>?
            return Outcome(SecKeyCreateSignature(key, algorithm, data as CFData, &error), error)
        }
        switch outcome {
        case .success(let signature): return signature
        case .failure(let status): throw OSStatusError(status ?? 0)
        }
    }

    private func decrypt(_ ciphertext: Data, _ algorithm: SecKeyAlgorithm) -> Outcome {
        device.run {
            var error: Unmanaged<CFError>?
            return Outcome(SecKeyCreateDecryptedData(key, algorithm, ciphertext as CFData, &error), error)
        }
    }

    private func exchange(_ algorithm: SecKeyAlgorithm, _ other: SecKey, _ parameters: [CFString: Any]) -> Outcome {
        device.run {
            var error: Unmanaged<CFError>?
            return Outcome(
                SecKeyCopyKeyExchangeResult(key, algorithm, other, parameters as CFDictionary, &error), error)
        }
    }

    private func publicKey(_ bytes: Data) -> SecKey? {
        let attributes = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeyClass: kSecAttrKeyClassPublic] as CFDictionary
        return SecKeyCreateWithData(bytes as CFData, attributes, nil)
    }

    /// r and s as the sequence that OpenSSL reads.
    private func der(_ signature: Data) -> Data {
        func integer(_ bytes: Data) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first ?? 0x80 >= 0x80 { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        let numbers = integer(signature.prefix(32)) + integer(signature.suffix(32))
        return Data([0x30, UInt8(numbers.count)] + numbers)
    }
}
