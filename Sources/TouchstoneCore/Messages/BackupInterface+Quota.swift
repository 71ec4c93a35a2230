/// What each app keeps in the keychain, and may keep.
extension BackupInterface {
    /// How many items, and how many bytes of them as they are stored.
    package struct Storage: Codable, Hashable, Sendable {
        package var items: Int
        package var bytes: Int
        package init(items: Int, bytes: Int) {
            self.items = items
            self.bytes = bytes
        }

        /// What each may keep unless the owner says otherwise.
        package static let ofEveryApp = Self(items: 10_000, bytes: 64 << 20)
        /// The largest limit.
        package static let maximum = Self(items: 1_000_000_000, bytes: 1 << 40)
    }

    /// Limits that the owner may have set at a time.
    package static let maximumLimits = 1000
    /// Longest name of an access group, in bytes of UTF-8.
    package static let maximumGroupBytes = 1024

    /// What one app, or one access group that apps share, keeps.
    package struct Use: Codable, Hashable, Sendable {
        /// The access group, an app's own by its identifier; absent for all whose names cannot be read while the device is locked.
        package var app: String?
        package var used: Storage
        package var limit: Storage
        /// Whether the owner has set no other limit.
        package var isDefault: Bool
        package init(app: String?, used: Storage, limit: Storage, isDefault: Bool) {
            self.app = app
            self.used = used
            self.limit = limit
            self.isDefault = isDefault
        }
    }

    /// What each app keeps, and may keep.
    package enum ListUse: VarlinkMethod {
        package static let name = "io.touchstone.Backup.ListUse"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var uses: [Use]
            /// What each may keep that has no limit of its own.
            package var limit: Storage
            /// Rows that do not open and were put aside, now or earlier.
            package var putAside: Int
            package init(uses: [Use], limit: Storage, putAside: Int) {
                self.uses = uses
                self.limit = limit
                self.putAside = putAside
            }
        }
    }

    /// Sets what an app may keep.
    package enum SetQuota: VarlinkMethod {
        package static let name = "io.touchstone.Backup.SetQuota"
        package struct Parameters: Codable, Sendable {
            package var app: String
            /// Absent: as every other.
            package var limit: Storage?
            package init(app: String, limit: Storage?) {
                self.app = app
                self.limit = limit
            }
        }
        package typealias Reply = Empty
    }
}
