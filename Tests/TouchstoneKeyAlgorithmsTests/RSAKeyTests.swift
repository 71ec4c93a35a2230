import Foundation
import Testing
import TouchstoneCore
import TouchstoneKeyAlgorithms

@Suite struct RSAKeyTests {
    static let inputs: [SignatureInput] =
        HashAlgorithm.allCases.map { .message($0) } + HashAlgorithm.allCases.map { .digest($0) }
    static let encryptions: [RSAEncryptionScheme] =
        [.raw, .pkcs1] + HashAlgorithm.allCases.map { .oaep($0) } + HashAlgorithm.allCases.map { .oaepWithAESGCM($0) }
    let message = Data("a nonce".utf8)

    @Test func keysAreReadAndWritten() throws {
        for size in [1024, 2048] {
            let key = try RSAKeys.key(size)
            #expect(key.keySizeInBits == size)
            #expect(key.modulusByteCount == size / 8)
            let again = try RSAPrivateKey(derRepresentation: key.pkcs1DERRepresentation)
            #expect(again.pkcs1DERRepresentation == key.pkcs1DERRepresentation)
            let half = try RSAPublicKey(derRepresentation: key.publicKey.pkcs1DERRepresentation)
            #expect(half.pkcs1DERRepresentation == key.publicKey.pkcs1DERRepresentation)
        }
    }

    @Test("keys of every size that is a multiple of 8 are made; OpenSSL finds nothing wrong with one of each eighth")
    func everySize() throws {
        var moduli: Set<Data> = []
        for size in stride(from: 1024, through: 2048, by: 8) {
            let key = try RSAPrivateKey(sizeInBits: size)
            #expect(key.keySizeInBits == size && key.modulusByteCount == size / 8)
            let again = try RSAPrivateKey(derRepresentation: key.pkcs1DERRepresentation)
            let signature = try again.signature(for: message, .pkcs1v15, .message(.sha256))
            #expect(try key.publicKey.isValidSignature(signature, for: message, .pkcs1v15, .message(.sha256)))
            let ciphertext = try key.publicKey.encrypt(message, .oaep(.sha1))
            #expect(try again.decrypt(ciphertext, .oaep(.sha1)) == message)
            moduli.insert(key.publicKey.pkcs1DERRepresentation)
            if size.isMultiple(of: 64) || size % 64 == 8 {
                let check = ["rsa", "-check", "-noout", "-in", "private.pem"]
                let answer = try #require(try Foreign.openSSL(check, key.files), "\(size) bits")
                #expect(String(decoding: answer, as: UTF8.self).contains("RSA key ok"))
            }
        }
        #expect(moduli.count == 129)
    }

    @Test("a key of 4104 bits, which is no multiple of 128, works like one of 4096", .timeLimit(.minutes(20)))
    func largeSize() throws {
        let key = try RSAPrivateKey(sizeInBits: 4104)
        #expect(key.keySizeInBits == 4104)
        for input in Self.inputs {
            let signature = try key.signature(for: data(input), .pss, input)
            #expect(try key.publicKey.isValidSignature(signature, for: data(input), .pss, input))
        }
        for scheme in Self.encryptions where scheme != .raw {
            #expect(try key.decrypt(key.publicKey.encrypt(message, scheme), scheme) == message)
        }
    }

    @Test(arguments: [Int.min, -8, 0, 8, 512, 1016, 1023, 1025, 1028, 2049, 8193, 8200, 16384, Int.max])
    func otherSizesAreNotMade(_ size: Int) {
        #expect(throws: Status.keySizeNotAllowed) { try RSAPrivateKey(sizeInBits: size) }
    }

    @Test("keys of OpenSSL's at both ends of the sizes are read and used, and those beyond are refused")
    func readSizes() throws {
        struct Row: Decodable {
            let size: Int
            let isRead: Bool
            let key: String
        }
        struct Rows: Decodable { let keys: [Row] }
        let rows = try JSONDecoder().decode(
            Rows.self, from: Data(contentsOf: Foreign.fixture("rsa_sizes", "json"))
        ).keys
        #expect(rows.filter(\.isRead).map(\.size) == [1024, 1032, 8184, 8192])
        #expect(rows.filter { !$0.isRead }.map(\.size) == [1016, 8200])
        for row in rows {
            let bytes = try #require(Data(base64Encoded: row.key))
            let file = ["private.der": bytes]
            let publicBytes = try #require(
                try Foreign.openSSL(
                    ["rsa", "-inform", "DER", "-in", "private.der", "-RSAPublicKey_out", "-outform", "DER"], file))
            guard row.isRead else {
                #expect(throws: (any Error).self) { try RSAPrivateKey(derRepresentation: bytes) }
                #expect(throws: (any Error).self, "public, \(row.size)") {
                    try RSAPublicKey(derRepresentation: publicBytes)
                }
                continue
            }
            let key = try RSAPrivateKey(derRepresentation: bytes)
            let publicKey = try RSAPublicKey(derRepresentation: publicBytes)
            #expect(key.keySizeInBits == row.size && key.pkcs1DERRepresentation == bytes)
            #expect(publicKey.keySizeInBits == row.size && publicKey.pkcs1DERRepresentation == publicBytes)
            let signature = try key.signature(for: message, .pss, .message(.sha256))
            #expect(try publicKey.isValidSignature(signature, for: message, .pss, .message(.sha256)))
            let ciphertext = try publicKey.encrypt(message, .oaepWithAESGCM(.sha256))
            #expect(try key.decrypt(ciphertext, .oaepWithAESGCM(.sha256)) == message)
        }
    }

    @Test("RFC 8017 9.1.1: PSS needs a modulus that holds the digest, as long a salt, and two bytes")
    func smallestModulusOfPSS() throws {
        for (size, isEnough) in [(1033, false), (1034, true)] {
            let answer = try Foreign.python([["operation": "rsa_generate", "size": size]])[0]
            let key = try RSAPrivateKey(derRepresentation: try #require(answer))
            let input = SignatureInput.message(.sha512)
            #expect(key.supports(.pss, input) == isEnough)
            guard isEnough else {
                #expect(throws: Status.param) { try key.signature(for: message, .pss, input) }
                #expect(throws: Status.param) {
                    try key.publicKey.isValidSignature(.filled(1, 130), for: message, .pss, input)
                }
                continue
            }
            let signature = try key.signature(for: message, .pss, input)
            #expect(try key.publicKey.isValidSignature(signature, for: message, .pss, input))
        }
    }

    @Test func whatIsNoKeyIsRefused() throws {
        let key = try RSAKeys.key(1024)
        let bytes = key.pkcs1DERRepresentation
        let wrong: [Data] = [
            Data(), Data([0x30, 0]), bytes.dropLast(), bytes.flippingBit(at: bytes.count - 1),
            bytes.flippingBit(at: 50),
            .filled(0, 1 << 20),
        ]
        for wrong in wrong {
            #expect(throws: (any Error).self) { try RSAPrivateKey(derRepresentation: Data(wrong)) }
        }
        #expect(throws: (any Error).self) { try RSAPrivateKey(sizeInBits: 512) }
        let half = key.publicKey.pkcs1DERRepresentation
        for wrong in [Data(), Data([0x30, 0]), half.dropLast(), bytes] {
            #expect(throws: (any Error).self) { try RSAPublicKey(derRepresentation: Data(wrong)) }
        }
    }

    @Test(
        "Python verifies what we sign and we what it signs; the salt of PSS is as long as the hash",
        arguments: RSAKeys.sizes)
    func pythonSignatures(_ size: Int) throws {
        let key = try RSAKeys.key(size)
        let cases = Self.inputs.flatMap { input in [RSASignatureScheme.pkcs1v15, .pss].map { (input, $0) } }
            .filter { key.supports($0.1, $0.0) }
        #expect(cases.count >= 18)
        let requests = try cases.flatMap { input, scheme in
            let request: [String: Any] = [
                "key": key.pkcs1DERRepresentation.hex, "hash": input.hash?.rawValue ?? "", "scheme": "\(scheme)",
                "isMessage": input == input.hash.map { .message($0) }, "data": data(input).hex,
            ]
            let signature = try key.signature(for: data(input), scheme, input)
            #expect(signature.count == key.modulusByteCount)
            let verify = request.merging(["operation": "rsa_verify", "signature": signature.hex]) { $1 }
            return [
                request.merging(["operation": "rsa_sign"]) { $1 }, verify,
                verify.merging(["data": Data.random(count: data(input).count).hex]) { $1 },
            ]
        }
        var answers = try Foreign.python(requests).makeIterator()
        for (input, scheme) in cases {
            let signature = try #require(answers.next() ?? nil)
            #expect(
                try key.publicKey.isValidSignature(signature, for: data(input), scheme, input), "\(input) \(scheme)")
            #expect(answers.next() == Data(), "ours, verified by Python: \(input) \(scheme)")
            #expect(answers.next() == .some(nil), "ours, of something else: \(input) \(scheme)")
        }
    }

    @Test("Python decrypts what we encrypt, and we what it encrypts", arguments: RSAKeys.sizes)
    func pythonEncryption(_ size: Int) throws {
        let key = try RSAKeys.key(size)
        let schemes = Self.encryptions.filter { $0 != .raw && key.supports($0) }
        #expect(schemes.count >= 8)
        let plaintexts = [Data(), Data("hi".utf8)]
        var requests: [[String: Any]] = []
        for scheme in schemes {
            for plaintext in plaintexts {
                var request: [String: Any] = ["key": key.pkcs1DERRepresentation.hex]
                var kind = "rsa"
                switch scheme {
                case .oaep(let hash): request["hash"] = hash.rawValue
                case .oaepWithAESGCM(let hash): (kind, request["hash"]) = ("hybrid", hash.rawValue)
                case .raw, .pkcs1: break
                }
                let ours = try key.publicKey.encrypt(plaintext, scheme)
                requests.append(request.merging(["operation": "\(kind)_encrypt", "data": plaintext.hex]) { $1 })
                requests.append(request.merging(["operation": "\(kind)_decrypt", "data": ours.hex]) { $1 })
            }
        }
        var answers = try Foreign.python(requests).makeIterator()
        for scheme in schemes {
            for plaintext in plaintexts {
                let theirs = try #require(answers.next() ?? nil)
                #expect(try key.decrypt(theirs, scheme) == plaintext, "encrypted by Python: \(scheme)")
                #expect(answers.next() == plaintext, "decrypted by Python: \(scheme)")
            }
        }
    }

    @Test("OpenSSL verifies what we sign, and we what it signs")
    func openSSLSignatures() throws {
        let key = try RSAKeys.key(2048)
        let files = key.files.merging(["message": message]) { $1 }
        for hash in HashAlgorithm.allCases {
            for (scheme, options) in [
                (RSASignatureScheme.pkcs1v15, []),
                (.pss, ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:\(hash.byteCount)"]),
            ] {
                let signature = try key.signature(for: message, scheme, .message(hash))
                let digest = ["dgst", "-" + hash.rawValue.lowercased()] + options
                let verify = digest + ["-verify", "public.pem", "-signature", "signature", "message"]
                #expect(
                    try Foreign.openSSL(verify, files.merging(["signature": signature]) { $1 }) != nil,
                    "\(scheme) \(hash)")
                let wrong = files.merging(["signature": signature.flippingBit(at: 5)]) { $1 }
                #expect(try Foreign.openSSL(verify, wrong) == nil)
                let theirs = try #require(try Foreign.openSSL(digest + ["-sign", "private.pem", "message"], files))
                #expect(
                    try key.publicKey.isValidSignature(theirs, for: message, scheme, .message(hash)),
                    "\(scheme) \(hash)")
            }
        }
    }

    @Test("OpenSSL does the same without a hash: raw, and PKCS#1 of any bytes")
    func openSSLRaw() throws {
        let key = try RSAKeys.key(2048)
        let block = Data.joined(Data([0]), .random(count: 255))
        // It signs no block as it is; decrypting one is the same.
        for (scheme, command, padding, data) in [
            (RSASignatureScheme.raw, "-decrypt", "none", block), (.pkcs1v15, "-sign", "pkcs1", Data("any bytes".utf8)),
        ] {
            let files = key.files.merging(["data": data]) { $1 }
            let options = ["-pkeyopt", "rsa_padding_mode:\(padding)", "-in", "data"]
            let theirs = try Foreign.openSSL(["pkeyutl", command, "-inkey", "private.pem"] + options, files)
            // Neither has anything random in it.
            #expect(try key.signature(for: data, scheme, .digest(nil)) == theirs)
            #expect(try key.publicKey.isValidSignature(try #require(theirs), for: data, scheme, .digest(nil)))
        }
        let files = key.files.merging(["data": block]) { $1 }
        let options = ["-pkeyopt", "rsa_padding_mode:none", "-in", "data"]
        let encrypted = try Foreign.openSSL(["pkeyutl", "-encrypt", "-pubin", "-inkey", "public.pem"] + options, files)
        #expect(try key.publicKey.encrypt(block, .raw) == encrypted)
        #expect(try key.decrypt(try #require(encrypted), .raw) == block)
        for hash in HashAlgorithm.allCases {
            let name = hash.rawValue.lowercased()
            let options = [
                "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:\(name)", "-pkeyopt",
                "rsa_mgf1_md:\(name)", "-in", "data",
            ]
            let ours = try key.publicKey.encrypt(message, .oaep(hash))
            #expect(
                try Foreign.openSSL(
                    ["pkeyutl", "-decrypt", "-inkey", "private.pem"] + options, key.files.merging(["data": ours]) { $1 }
                ) == message)
        }
    }

    @Test("the block must fit: PSS needs 16 bits for each byte of the hash and 9 more")
    func sizes() throws {
        let small = try RSAKeys.key(1024)
        for operation in [SignatureInput.message(.sha512), .digest(.sha512)] {
            #expect(!small.supports(.pss, operation))
            #expect(throws: Status.param) { try small.signature(for: data(operation), .pss, operation) }
            #expect(throws: Status.param) {
                try small.publicKey.isValidSignature(Data(count: 128), for: data(operation), .pss, operation)
            }
        }
        #expect(small.supports(.pss, .message(.sha384)))
        #expect(!small.supports(.oaep(.sha512)))
        #expect(throws: Status.param) { try small.publicKey.encrypt(Data(), .oaep(.sha512)) }
        #expect(throws: Status.param) { try small.decrypt(Data(count: 128), .oaep(.sha512)) }
        #expect(!small.supports(.pss, .digest(nil)))
        let key = try RSAKeys.key(2048)
        for scheme in Self.encryptions { #expect(key.supports(scheme)) }
    }

    @Test("RSA: the most that can be encrypted at once, and one byte more")
    func longestPlaintexts() throws {
        let key = try RSAKeys.key(2048)
        for (scheme, longest) in [
            (RSAEncryptionScheme.pkcs1, 256 - 11), (.oaep(.sha1), 256 - 42), (.oaep(.sha224), 256 - 58),
            (.oaep(.sha256), 256 - 66),
            (.oaep(.sha384), 256 - 98), (.oaep(.sha512), 256 - 130),
        ] {
            let plaintext = Data.random(count: longest)
            #expect(try key.decrypt(try key.publicKey.encrypt(plaintext, scheme), scheme) == plaintext)
            #expect(throws: Status.param) { try key.publicKey.encrypt(.random(count: longest + 1), scheme) }
        }
        let long = Data.random(count: 100_000)
        #expect(
            try key.decrypt(try key.publicKey.encrypt(long, .oaepWithAESGCM(.sha512)), .oaepWithAESGCM(.sha512)) == long
        )
        // Raw: a number less than the modulus.
        #expect(try key.publicKey.encrypt(Data([1]), .raw) == .joined(.filled(0, 255), Data([1])))
        #expect(try key.decrypt(try key.publicKey.encrypt(Data(count: 256), .raw), .raw) == Data(count: 256))
        #expect(throws: Status.param) { try key.publicKey.encrypt(Data(repeating: 0xff, count: 256), .raw) }
        #expect(throws: Status.param) { try key.publicKey.encrypt(Data(count: 257), .raw) }
        #expect(throws: Status.param) { try key.signature(for: Data(repeating: 0xff, count: 256), .raw, .digest(nil)) }
        #expect(throws: Status.param) { try key.signature(for: Data(count: 246), .pkcs1v15, .digest(nil)) }
        #expect(try key.signature(for: Data(count: 245), .pkcs1v15, .digest(nil)).count == 256)
    }

    @Test func alteredCiphertextIsRefused() throws {
        let key = try RSAKeys.key(2048)
        let other = try RSAKeys.other()
        for scheme in Self.encryptions where scheme != .raw {
            let ciphertext = try key.publicKey.encrypt(message, scheme)
            let wrong: [Data] = [
                Data(), Data([0]), ciphertext.dropLast(), .joined(ciphertext, Data([0])), .filled(0, 256),
                .filled(0xff, 272),
                .filled(0xff, 256),
            ]
            for wrong in wrong {
                #expect(throws: Status.param, "\(scheme)") { try key.decrypt(Data(wrong), scheme) }
            }
            // A block of PKCS#1 may be one by chance: one of 2¹⁶ is.
            if scheme != .pkcs1 {
                for index in [0, 1, 100, 255, ciphertext.count - 1] {
                    #expect(throws: Status.param, "\(scheme)") {
                        try key.decrypt(ciphertext.flippingBit(at: index), scheme)
                    }
                }
                #expect(throws: Status.param) { try other.decrypt(ciphertext, scheme) }
            }
        }
        let ciphertext = try key.publicKey.encrypt(message, .oaep(.sha256))
        #expect(throws: Status.param) { try key.decrypt(ciphertext, .oaep(.sha384)) }
        #expect(throws: Status.param) { try key.decrypt(ciphertext, .pkcs1) }
    }

    @Test("a block whose filling is wrong is refused, whichever byte it is")
    func malformedBlocks() throws {
        let key = try RSAKeys.key(1024)
        let filling = Data.filled(7, 128 - 3 - 2)
        let right = Data.joined(Data([0, 2]), filling, Data([0, 9, 9]))
        #expect(try key.decrypt(key.publicKey.encrypt(right, .raw), .pkcs1) == Data([9, 9]))
        let wrong: [Data] = [
            .joined(Data([0, 1]), filling, Data([0, 9, 9])), .joined(Data([1, 2]), filling, Data([0, 9, 9])),
            .joined(Data([0, 2]), filling, Data([7, 9, 9])), .joined(Data([0, 2, 0]), filling, Data([9, 9])),
            // Seven bytes of filling are too few.
            .joined(Data([0, 2]), .filled(7, 7), Data([0]), .filled(9, 118)),
        ]
        for block in wrong {
            #expect(block.count == 128)
            #expect(throws: Status.param) { try key.decrypt(key.publicKey.encrypt(block, .raw), .pkcs1) }
        }
        let least = Data.joined(Data([0, 2]), .filled(7, 8), Data([0]), .filled(9, 117))
        #expect(try key.decrypt(key.publicKey.encrypt(least, .raw), .pkcs1) == .filled(9, 117))
    }

    @Test("OAEP: a block with another label is refused")
    func otherLabel() throws {
        let key = try RSAKeys.key(2048)
        let requests = ["", "6c6162656c"].map {
            [
                "operation": "rsa_encrypt", "key": key.pkcs1DERRepresentation.hex, "hash": "SHA256", "label": $0,
                "data": message.hex,
            ]
        }
        let answers = try Foreign.python(requests)
        #expect(try key.decrypt(try #require(answers[0]), .oaep(.sha256)) == message)
        #expect(throws: Status.param) { try key.decrypt(try #require(answers[1]), .oaep(.sha256)) }
    }

    @Test func whatIsNoSignatureIsNotValid() throws {
        let key = try RSAKeys.key(2048)
        let other = try RSAKeys.other()
        for scheme in [RSASignatureScheme.pkcs1v15, .pss] {
            let signature = try key.signature(for: message, scheme, .message(.sha256))
            #expect(try key.publicKey.isValidSignature(signature, for: message, scheme, .message(.sha256)))
            var wrong: [Data] = [
                Data(), signature.dropLast(), .joined(signature, Data([0])), .joined(Data([0]), signature),
                .filled(0, 256),
                .joined(.filled(0, 255), Data([1])), .filled(0xff, 256), .filled(0, 1 << 20),
            ]
            wrong += stride(from: 0, to: 256, by: 15).map { signature.flippingBit(at: $0) }
            for wrong in wrong {
                #expect(try !key.publicKey.isValidSignature(Data(wrong), for: message, scheme, .message(.sha256)))
            }
            #expect(try !key.publicKey.isValidSignature(signature, for: message, scheme, .message(.sha384)))
            let otherScheme = scheme == .pss ? RSASignatureScheme.pkcs1v15 : .pss
            #expect(try !key.publicKey.isValidSignature(signature, for: message, otherScheme, .message(.sha256)))
            #expect(try !other.publicKey.isValidSignature(signature, for: message, scheme, .message(.sha256)))
        }
        // What the exponent makes of a block that is wrong inside: a digest in other DER, and one behind too little filling.
        let digest = HashAlgorithm.sha256.hash(message)
        for content in [Data.joined(Data([4, 32]), digest), digest] {
            for fill in [256 - 3 - content.count, 8] {
                let start = Data.joined(Data([0, 1]), .filled(0xff, fill), Data([0]), content)
                let forged = try key.signature(for: .joined(start, .filled(0, 256 - start.count)), .raw, .digest(nil))
                #expect(try !key.publicKey.isValidSignature(forged, for: message, .pkcs1v15, .message(.sha256)))
            }
        }
    }

    @Test func digestsOfAWrongLengthAreRefused() throws {
        let key = try RSAKeys.key(2048)
        for hash in HashAlgorithm.allCases {
            for scheme in [RSASignatureScheme.pkcs1v15, .pss] {
                for count in [0, hash.byteCount - 1, hash.byteCount + 1, 1000] {
                    #expect(throws: Status.param) { try key.signature(for: Data(count: count), scheme, .digest(hash)) }
                    #expect(throws: Status.param) {
                        try key.publicKey.isValidSignature(
                            Data(count: 256), for: Data(count: count), scheme, .digest(hash))
                    }
                }
            }
        }
    }

    private func data(_ input: SignatureInput) -> Data {
        switch input {
        case .message: message
        case .digest(let hash): hash?.hash(message) ?? message
        }
    }
}

/// Keys that the tests share, since large ones take long to make.
enum RSAKeys {
    /// Of 1031 and 2049 bits too: what is whole bytes elsewhere is not there.
    ///
    /// Those of 1032 and 2056 bits are nettle's.
    static let sizes = [1024, 1031, 1032, 2048, 2049, 2056, 4096]

    static func key(_ size: Int) throws -> RSAPrivateKey {
        try #require(keys[size] ?? nil, "\(size) bits")
    }

    static func other() throws -> RSAPrivateKey { try RSAPrivateKey(sizeInBits: 2048) }

    private static let keys: [Int: RSAPrivateKey?] = {
        var keys = Dictionary(
            uniqueKeysWithValues: [1024, 1032, 2048, 2056].map { ($0, try? RSAPrivateKey(sizeInBits: $0)) })
        // Python makes the sizes that swift-crypto does not, and this one sooner.
        let foreign = [1031, 2049, 4096]
        let answers = try? Foreign.python(foreign.map { ["operation": "rsa_generate", "size": $0] })
        for (size, answer) in zip(foreign, answers ?? []) {
            keys[size] = answer.flatMap { try? RSAPrivateKey(derRepresentation: $0) }
        }
        return keys
    }()
}

extension RSAPrivateKey {
    /// For OpenSSL.
    var files: [String: Data] {
        func pem(_ type: String, _ der: Data) -> Data {
            let text = der.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return Data("-----BEGIN \(type)-----\n\(text)\n-----END \(type)-----\n".utf8)
        }
        return [
            "private.pem": pem("RSA PRIVATE KEY", pkcs1DERRepresentation),
            "public.pem": pem("RSA PUBLIC KEY", publicKey.pkcs1DERRepresentation),
        ]
    }
}
