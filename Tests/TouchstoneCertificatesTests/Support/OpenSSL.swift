import Foundation
import SwiftASN1
import Testing
import TouchstoneCertificates
import TouchstoneSecurity

/// The `openssl` command in a directory of its own.
final class OpenSSL: Sendable {
    let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "touchstone-openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    struct Failed: Error {
        let arguments: [String]
        let message: String
    }

    /// Runs it, and returns what it prints.
    @discardableResult
    func callAsFunction(_ arguments: String...) throws -> String { try run(arguments) }

    @discardableResult
    func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = FileHandle.nullDevice
        let output = directory.appending(path: "output-\(UUID().uuidString)")
        let errors = directory.appending(path: "errors-\(UUID().uuidString)")
        for file in [output, errors] { try Data().write(to: file) }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failed(arguments: arguments, message: try String(contentsOf: errors, encoding: .utf8))
        }
        return String(decoding: try Data(contentsOf: output), as: UTF8.self)
    }

    subscript(name: String) -> Data {
        get throws { try Data(contentsOf: directory.appending(path: name)) }
    }

    func write(_ data: Data, _ name: String) throws {
        try data.write(to: directory.appending(path: name))
    }

    // MARK: - What tests need most

    enum Algorithm: String, CaseIterable {
        case p192 = "P-192"
        case p224 = "P-224"
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"
        case rsa1024 = "1024"
        case rsa1032 = "1032"
        case rsa2048 = "2048"

        /// Those that we make keys of.
        static let made = allCases.filter { $0 != .p192 && $0 != .p224 }

        var isRSA: Bool { !rawValue.hasPrefix("P-") }

        var arguments: [String] {
            isRSA
                ? ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(rawValue)"]
                : ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(rawValue)"]
        }
    }

    /// Makes `NAME.key`, PKCS#8 in PEM.
    func makeKey(_ name: String = "one", _ algorithm: Algorithm = .p256) throws {
        try run(["genpkey"] + algorithm.arguments + ["-out", "\(name).key"])
    }

    /// X9.63 or PKCS#1 of `NAME.key`.
    func keyBytes(_ algorithm: Algorithm, _ name: String = "one") throws -> (private: Data, public: Data) {
        if algorithm.isRSA {
            try self("rsa", "-in", "\(name).key", "-traditional", "-outform", "DER", "-out", "\(name).private")
            try self("rsa", "-in", "\(name).key", "-RSAPublicKey_out", "-outform", "DER", "-out", "\(name).public")
            return (try self["\(name).private"], try self["\(name).public"])
        }
        try self("pkey", "-in", "\(name).key", "-pubout", "-outform", "DER", "-out", "\(name).public")
        try self("ec", "-in", "\(name).key", "-outform", "DER", "-out", "\(name).private")
        let key = try DER.parse(Array(self["\(name).private"]))
        let number = try #require(key.children(.sequence)?[1].bytes(.octetString))
        let point = try #require(SubjectPublicKeyInfo(der: self["\(name).public"])).key
        return (point + number, point)
    }

    /// Makes a self-signed certificate of `NAME.key`, in `NAME.pem` and as DER in `NAME.der`.
    func makeCertificate(
        _ name: String = "one", subject: String = "/CN=Somebody", strings: String = "utf8only", more: [String] = []
    ) throws -> Data {
        let config = """
            [req]
            string_mask = \(strings)
            distinguished_name = name
            x509_extensions = identifier
            [name]
            [identifier]
            subjectKeyIdentifier = hash
            [authority]
            basicConstraints = critical, CA:TRUE
            subjectKeyIdentifier = none

            """
        try write(Data(config.utf8), "config")
        try run(
            ["req", "-x509", "-new", "-utf8", "-config", "config", "-key", "\(name).key", "-subj", subject] + more
                + ["-out", "\(name).pem"])
        try run(["x509", "-in", "\(name).pem", "-outform", "DER", "-out", "\(name).der"])
        return try self["\(name).der"]
    }
}

extension Data {
    var hex: String { map { String(format: "%02X", $0) }.joined() }
}

/// Apple's `errSecInternal`, which has no public name.
let internalError: OSStatus = -26276
