public import Foundation

/// What root keeps of a user in `/etc/touchstone/pam/UID`: the public halves of two keys, and the blobs that the enclave alone opens.
///
/// Nothing in it is secret. What counts is that only root can write it.
public struct EnrolledKeys: Equatable, Sendable {
    /// A key of the enclave's.
    public struct Key: Equatable, Sendable {
        /// The point of P-256, uncompressed, 65 bytes.
        public var publicKey: Data
        /// What the enclave opens, and nobody else.
        public var blob: Data

        /// A key.
        public init(publicKey: Data, blob: Data) {
            self.publicKey = publicKey
            self.blob = blob
        }
    }

    /// Most bytes of a file.
    public static let largestFile = 8192
    private static let firstLine = "Touchstone PAM 1"
    private static let pointBytes = 65
    private static let blobBytes = 1...2048

    /// The name that the user had then.
    public var user: String
    /// Wants the owner's finger or passcode for each use (PM-1).
    public var presence: Key
    /// Asks nobody, and can be used while the device is unlocked (PM-22).
    public var unlocked: Key

    /// What an enrolment made.
    public init(user: String, presence: Key, unlocked: Key) {
        self.user = user
        self.presence = presence
        self.unlocked = unlocked
    }

    /// The text of the file.
    public var text: String {
        """
        \(Self.firstLine)
        user \(user)
        presence \(Self.text(presence))
        unlocked \(Self.text(unlocked))

        """
    }

    /// Reads a file; nil if it is anything else than ``text`` writes.
    ///
    /// - Parameter file: All of its bytes.
    public init?(file: Data) {
        guard file.count <= Self.largestFile, let text = String(bytes: file, encoding: .utf8), text.hasSuffix("\n")
        else { return nil }
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, lines[0] == Self.firstLine, let user = Self.value("user", lines[1]), !user.isEmpty,
            let presence = Self.value("presence", lines[2]).flatMap(Self.key),
            let unlocked = Self.value("unlocked", lines[3]).flatMap(Self.key),
            // One that asks nobody never stands for one that asks.
            presence.publicKey != unlocked.publicKey
        else { return nil }
        self.init(user: String(user), presence: presence, unlocked: unlocked)
    }

    private static func value(_ word: String, _ line: Substring) -> Substring? {
        line.hasPrefix("\(word) ") ? line.dropFirst(word.count + 1) : nil
    }

    private static func text(_ key: Key) -> String {
        "\(key.publicKey.base64EncodedString()) \(key.blob.base64EncodedString())"
    }

    private static func key(_ text: Substring) -> Key? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let point = Data(base64Encoded: String(parts[0])), point.count == pointBytes,
            let blob = Data(base64Encoded: String(parts[1])), blobBytes.contains(blob.count)
        else { return nil }
        return Key(publicKey: point, blob: blob)
    }
}
