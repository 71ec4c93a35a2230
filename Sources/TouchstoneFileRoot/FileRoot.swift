import Crypto
package import Foundation
import TouchstoneEnclave
package import TouchstoneMemory

/// The root of trust of a machine without a TPM: 32 random bytes in a file.
///
/// Whoever copies the file copies the device.
package struct FileRoot: RootOfTrust {
    private let secret: SecretBytes

    package let kind = "software"

    /// Reads the key of an existing device.
    ///
    /// - Throws: `PrivateFileError`.
    package init(_ file: URL) throws {
        guard var bytes = try PrivateFile(file).read() else { throw PrivateFileError(file, "is missing") }
        defer { bytes.resetBytes(in: 0..<bytes.count) }
        guard bytes.count == Self.length else { throw PrivateFileError(file, "is not a key of \(Self.length) bytes") }
        secret = SecretBytes(bytes)
    }

    /// Makes the key of a new device.
    ///
    /// - Throws: `PrivateFileError`, also where the file exists: a key is never overwritten.
    package static func create(_ file: URL) throws {
        guard try PrivateFile(file).read() == nil else { throw PrivateFileError(file, "already exists") }
        let key = SecretBytes.random(count: length)
        try PrivateFile(file).replace(unsafe key.withUnsafeBytes { unsafe Data($0) })
    }

    package func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("io.touchstone root \(label.utf8.count) \(label)".utf8))
        code.update(data: input)
        return unsafe code.finalize().withUnsafeBytes { unsafe SecretBytes($0) }
    }

    private static let length = 32
}
