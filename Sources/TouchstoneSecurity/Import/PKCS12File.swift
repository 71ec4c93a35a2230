internal import Foundation
internal import SwiftASN1
internal import TouchstoneCertificates
internal import TouchstoneCore

/// The keys and certificates of a PKCS#12 file (RFC 7292).
struct PKCS12File {
    private(set) var keys: [Entry<SoftwareKey>] = []
    private(set) var certificates: [Entry<Certificate>] = []

    /// What stands in a bag, and what the file says of it.
    struct Entry<Value> {
        let value: Value
        let friendlyName: String?
    }

    private var passphrase: Passphrase
    private var iterationsLeft = Self.maximumIterations

    /// All of a file together: what takes longer is taken for an attack.
    private static let maximumIterations = 10_000_000

    /// Reads a file that is authenticated by a passphrase.
    ///
    /// - Throws: `.authFailed` if the passphrase or the authentication code is wrong; `.decode` for anything else that is not such a file.
    init(_ bytes: [UInt8], passphrase text: String) throws(Status) {
        passphrase = Passphrase(text)
        defer { passphrase.zero() }
        guard let fields = Self.parse(bytes)?.children(.sequence), fields.count == 3,
            fields[0].positiveInteger == 3,
            let (type, content) = Self.contentInfo(fields[1]), type == Self.data,
            let safes = content.octets(.octetString)
        else { throw .decode }
        try authenticate(safes, fields[2])
        guard let safes = Self.parse(safes)?.children(.sequence) else { throw .decode }
        for safe in safes {
            guard let (type, content) = Self.contentInfo(safe) else { throw .decode }
            switch type {
            case Self.data:
                guard let bags = content.octets(.octetString) else { throw .decode }
                try readBags(bags)
            case Self.encryptedData:
                guard let fields = content.children(.sequence), fields.count >= 2,
                    let inner = fields[1].children(.sequence), inner.count == 3, inner[0].isObjectIdentifier(Self.data),
                    let ciphertext = inner[2].octets(.context(0))
                else { throw .decode }
                var bags = try decrypt(ciphertext, inner[1])
                defer { bags.zero() }
                try readBags(bags)
            default: throw .decode
            }
        }
    }

    private mutating func authenticate(_ bytes: [UInt8], _ node: ASN1Node) throws(Status) {
        guard let fields = node.children(.sequence), (2...3).contains(fields.count),
            let code = fields[0].children(.sequence), code.count == 2,
            let algorithm = AlgorithmIdentifier(code[0]), let hash = PKCS12Hash(algorithm),
            let expected = code[1].octets(.octetString), let salt = fields[1].octets(.octetString)
        else { throw .decode }
        var iterations = 1
        if fields.count == 3 {
            guard let number = fields[2].positiveInteger else { throw .decode }
            iterations = number
        }
        func isValid() throws(Status) -> Bool {
            try spend(iterations)
            return hash.isValid(expected, of: bytes, passphrase: passphrase.utf16, salt: salt, iterations: iterations)
        }
        if try isValid() { return }
        guard passphrase.isEmpty else { throw .authFailed }
        passphrase.omitTerminator()
        guard try isValid() else { throw .authFailed }
    }

    private mutating func decrypt(_ ciphertext: [UInt8], _ algorithm: ASN1Node) throws(Status) -> [UInt8] {
        guard let identifier = AlgorithmIdentifier(algorithm), let encryption = PasswordEncryption(identifier) else {
            throw .decode
        }
        try spend(encryption.iterations)
        guard let plaintext = encryption.decrypt(ciphertext, passphrase) else { throw .decode }
        return plaintext
    }

    private mutating func spend(_ iterations: Int) throws(Status) {
        guard iterations <= iterationsLeft else { throw .decode }
        iterationsLeft -= iterations
    }

    // MARK: - Bags

    private mutating func readBags(_ bytes: [UInt8]) throws(Status) {
        guard let bags = Self.parse(bytes)?.children(.sequence) else { throw .decode }
        try readBags(bags)
    }

    private mutating func readBags(_ bags: [ASN1Node]) throws(Status) {
        for bag in bags {
            guard let fields = bag.children(.sequence), (2...3).contains(fields.count),
                let type = fields[0].bytes(.objectIdentifier), type.starts(with: Self.bag),
                let explicit = fields[1].children(.context(0)), explicit.count == 1
            else { throw .decode }
            let attributes = fields.count == 3 ? fields[2] : nil
            switch Array(type.dropFirst(Self.bag.count)) {
            case [1]: try readKey(Array(explicit[0].encodedBytes), attributes)
            case [2]:
                guard let fields = explicit[0].children(.sequence), fields.count == 2,
                    let ciphertext = fields[1].octets(.octetString)
                else { throw .decode }
                var key = try decrypt(ciphertext, fields[0])
                defer { key.zero() }
                try readKey(key, attributes)
            case [3]: try readCertificate(explicit[0], attributes)
            case [6]:
                guard let bags = explicit[0].children(.sequence) else { throw .decode }
                try readBags(bags)
            // Revocation lists and secrets are nothing that is returned.
            default: break
            }
        }
    }

    private mutating func readKey(_ bytes: [UInt8], _ attributes: ASN1Node?) throws(Status) {
        guard let key = SoftwareKey(privateKeyInfo: bytes) else { throw .decode }
        keys.append(try Self.entry(key, attributes))
    }

    private mutating func readCertificate(_ node: ASN1Node, _ attributes: ASN1Node?) throws(Status) {
        guard let fields = node.children(.sequence), fields.count == 2 else { throw .decode }
        // A certificate of another kind than X.509.
        guard fields[0].isObjectIdentifier(Self.x509Certificate) else { return }
        guard let explicit = fields[1].children(.context(0)), explicit.count == 1,
            let bytes = explicit[0].octets(.octetString), let certificate = Certificate(der: Data(bytes))
        else { throw .decode }
        certificates.append(try Self.entry(certificate, attributes))
    }

    private static func entry<Value>(_ value: Value, _ attributes: ASN1Node?) throws(Status) -> Entry<Value> {
        guard let attributes else { return Entry(value: value, friendlyName: nil) }
        guard let attributes = attributes.children(.set) else { throw .decode }
        var friendlyName: String?
        for attribute in attributes {
            guard let fields = attribute.children(.sequence), fields.count == 2, let values = fields[1].children(.set)
            else { throw .decode }
            if fields[0].isObjectIdentifier(Self.friendlyName) { friendlyName = values.first?.text }
        }
        return Entry(value: value, friendlyName: friendlyName)
    }

    // MARK: - Parts

    private static func parse(_ bytes: [UInt8]) -> ASN1Node? { try? BER.parse(bytes) }

    /// The type and the content of a ContentInfo.
    private static func contentInfo(_ node: ASN1Node) -> ([UInt8], ASN1Node)? {
        guard let fields = node.children(.sequence), fields.count == 2, let type = fields[0].bytes(.objectIdentifier),
            let explicit = fields[1].children(.context(0)), explicit.count == 1
        else { return nil }
        return (Array(type), explicit[0])
    }

    private static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
    private static let encryptedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06]
    private static let bag: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01]
    private static let x509Certificate: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01]
    private static let friendlyName: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x14]
}
