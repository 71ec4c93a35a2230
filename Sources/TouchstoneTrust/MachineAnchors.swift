package import Foundation
internal import Synchronization

/// The certificates that this machine trusts (TR-2).
///
/// They are those of the system's bundle, which `update-ca-certificates` and p11-kit's `trust extract-compat` write.
/// Files that changed are read again at the next evaluation.
package final class MachineAnchors: Sendable {
    /// Where they are looked for.
    package struct Places: Sendable {
        /// The first that is there is read.
        package var bundles: [String]
        /// Directories with the certificates that the machine's owner added.
        package var owners: [String]

        package init(bundles: [String], owners: [String]) {
            self.bundles = bundles
            self.owners = owners
        }

        package static let standard = Places(
            bundles: [
                "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
            ],
            owners: [
                "/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors",
                "/etc/ca-certificates/trust-source/anchors",
            ])
    }

    struct Certificates: Sendable {
        var all: [X509Certificate] = []
        var system: Set<[UInt8]> = []
        var owner: Set<[UInt8]> = []
    }

    package static let shared = MachineAnchors(.standard)

    private let places: Places
    private let known = Mutex<(stamp: [FileStamp], certificates: Certificates)?>(nil)

    package init(_ places: Places) {
        self.places = places
    }

    /// The DER of all of them.
    package var allDER: [Data] { certificates().all.map { Data($0.der) } }

    func certificates() -> Certificates {
        let bundle = places.bundles.first { FileManager.default.fileExists(atPath: $0) }
        let added = places.owners.flatMap(Self.files)
        let stamp = ([bundle].compactMap { $0 } + added).map(FileStamp.init)
        return known.withLock { known in
            if let known, known.stamp == stamp { return known.certificates }
            let certificates = Self.read(bundle, added)
            known = (stamp, certificates)
            return certificates
        }
    }

    private static func read(_ bundle: String?, _ added: [String]) -> Certificates {
        var result = Certificates()
        guard let crypto = unsafe libCrypto, let bundle else { return result }
        let owner = Set(added.flatMap { PEMFile.certificates(atPath: $0) })
        // What the owner added counts once it is in the bundle, as for every other program.
        for der in PEMFile.certificates(atPath: bundle) {
            guard let certificate = unsafe X509Certificate(der, crypto) else { continue }
            result.all.append(certificate)
            if owner.contains(der) { result.owner.insert(der) } else { result.system.insert(der) }
        }
        return result
    }

    private static func files(in directory: String) -> [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".crt") || $0.hasSuffix(".pem") }.sorted().prefix(maximumFiles)
            .map { directory + "/" + $0 }
    }

    private static let maximumFiles = 1024
}

/// By which it is seen that a file changed.
private struct FileStamp: Equatable, Sendable {
    let path: String
    let date: Date?
    let bytes: Int?
    let number: Int?

    init(_ path: String) {
        self.path = path
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: target)
        date = attributes?[.modificationDate] as? Date
        bytes = (attributes?[.size] as? NSNumber)?.intValue
        number = (attributes?[.systemFileNumber] as? NSNumber)?.intValue
    }
}

/// A file of certificates between lines that say BEGIN and END (RFC 7468).
package enum PEMFile {
    static func certificates(atPath path: String) -> [[UInt8]] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        guard let bytes = try? file.read(upToCount: TrustLimits.maximumAnchorFileBytes + 1),
            bytes.count <= TrustLimits.maximumAnchorFileBytes
        else { return [] }
        return certificates(bytes)
    }

    /// The DER of each certificate of a text; what is not one is left out.
    package static func certificates(_ text: Data) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var base64: Data?
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.elementsEqual(begin) {
                base64 = Data()
            } else if line.elementsEqual(end) {
                if let der = base64.flatMap({ Data(base64Encoded: $0) }), !der.isEmpty {
                    certificates.append(Array(der))
                }
                base64 = nil
                if certificates.count == TrustLimits.maximumAnchorFileCertificates { break }
            } else {
                base64?.append(contentsOf: line)
            }
        }
        return certificates
    }

    private static let begin = "-----BEGIN CERTIFICATE-----".utf8
    private static let end = "-----END CERTIFICATE-----".utf8
}
