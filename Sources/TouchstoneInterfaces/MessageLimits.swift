import TouchstoneCore

// Limits and names that the interface files say in words.

extension AgentInterface {
    /// The version of this interface that agents speak and touchstoned serves.
    package static let version = 1
}

extension BackupInterface {
    /// Bytes of the key of one backup.
    package static let keyBytes = 32
    /// A session is named by the HMAC-SHA256 of this text under the backup's key, in hexadecimal.
    package static let sessionLabel = "io.touchstone backup session"

    /// Limits that the owner may have set at a time.
    package static let maximumLimits = 1000
    /// Longest name of an access group, in bytes of UTF-8.
    package static let maximumGroupBytes = 1024
}

extension BackupInterface.Storage {
    /// What each may keep unless the owner says otherwise.
    package static let ofEveryApp = Self(items: 10_000, bytes: 64 << 20)
    /// The largest limit.
    package static let maximum = Self(items: 1_000_000_000, bytes: 1 << 40)
}

extension DeviceInterface.AdvanceClock {
    /// Of one call, in seconds: 366 days.
    package static let maximum: Double = 366 * 86400
    /// Of all calls since the boot.
    package static let maximumInTotal: Double = 10 * maximum
}

extension KeyInterface {
    package enum Limits {
        /// Of a key's blob: the longest access group there is, and room for the rest.
        package static let keyBytes = 128 << 10
        /// Of what is signed whole: a request is at most 1 MiB.
        package static let messageBytes = 512 << 10
        /// Of the context string of FIPS 204.
        package static let signatureContextBytes = 255
    }
}
