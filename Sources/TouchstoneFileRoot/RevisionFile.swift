import Crypto
package import Foundation
package import TouchstoneEnclave
import TouchstoneMemory

/// The highest revision of an enclave's state so far, in a file of the runtime directory: remembered until the machine restarts, or its
/// user logs out.
///
/// Whoever puts back an older state and can write to the runtime directory too can remove this file: no file can tell. One text line: the
/// number, and the HMAC-SHA256 of it in hexadecimal under a key of this root of trust.
package struct RevisionFile: RevisionCounter {
    private let file: PrivateFile
    private let key: SecretBytes

    package init(_ file: URL, root: any RootOfTrust) throws {
        self.file = PrivateFile(file)
        key = try root.derive("revision", Data())
    }

    /// nil too for a file that is not ours: it may be of a device that had this name before.
    package func read() throws -> UInt64? {
        guard let bytes = try file.read() else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // In time that does not tell how much of a code that somebody tries is right.
        guard let number = text.split(separator: " ").first, let revision = UInt64(number),
            SecretBytes(line(revision).utf8).isEqual(to: SecretBytes(bytes))
        else { return nil }
        return revision
    }

    package func advance(to revision: UInt64) throws {
        try file.replaceUntilPowerCut(Data(line(revision).utf8))
    }

    private func line(_ revision: UInt64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data("\(revision)".utf8), using: key.symmetricKey)
        return "\(revision) \(code.map { String(format: "%02x", $0) }.joined())\n"
    }
}
