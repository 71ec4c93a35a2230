package import Foundation

/// Into a backup, or out of one.
package enum BackupDirection: String, Codable, Hashable, Sendable {
    case export
    case `import`
}

/// `io.touchstone.Backup`: the keychain as a whole, for its owner: backup, and looking for damage.
///
/// What is in a backup's records, see docs/storage-format.md; a client only carries them.
package enum BackupInterface {
    package static let name = "io.touchstone.Backup"

    /// Bytes of the key of one backup.
    package static let keyBytes = 32
    /// A session is named by the HMAC-SHA256 of this text under the backup's key, in hexadecimal.
    package static let sessionLabel = "io.touchstone backup session"

    /// What became of the items that were looked at.
    package struct ExportCounts: Codable, Hashable, Sendable {
        package var exported = 0
        /// Among them, those that open on the same root of trust only (KC-25).
        package var thisDeviceOnly = 0
        /// Left out: they want the owner, or a passcode to be set, or live in the enclave (KC-26).
        package var excluded = 0
        /// Left out: they do not open.
        package var damaged = 0
        package init() {}
    }

    /// The next records of a backup.
    package enum Export: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Export"
        package struct Parameters: Codable, Sendable {
            package var session: String
            /// `next` of the reply before; absent: from the beginning.
            package var after: Int64?
            package init(session: String, after: Int64?) {
                self.session = session
                self.after = after
            }
        }
        package struct Reply: Codable, Sendable {
            package var records: Data
            /// Absent: that was all.
            package var next: Int64?
            /// Of these records.
            package var counts: ExportCounts
            /// All items there are, for showing progress; 0 in any but the first reply.
            package var total: Int
            package init(records: Data, next: Int64?, counts: ExportCounts, total: Int) {
                self.records = records
                self.next = next
                self.counts = counts
                self.total = total
            }
        }
    }

    package struct ImportCounts: Codable, Hashable, Sendable {
        package var added = 0
        /// In place of an item that was there.
        package var replaced = 0
        /// Left as they are: an item of the same primary key or reference is there.
        package var kept = 0
        /// Left out: they belong to another root of trust (KC-25).
        package var foreign = 0
        /// Left out: they do not open, or are of a kind that this version does not know.
        package var damaged = 0
        package init() {}
    }

    /// Takes the next bytes of a backup's records, cut anywhere.
    ///
    /// Items whose records are whole are on the disk when it answers; giving the same ones again changes nothing.
    package enum Import: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Import"
        package struct Parameters: Codable, Sendable {
            package var session: String
            /// How many bytes came before these: 0 begins anew.
            package var offset: Int
            package var records: Data
            /// Whether what is in the backup takes the place of what is there.
            package var replaces: Bool
            package init(session: String, offset: Int, records: Data, replaces: Bool) {
                self.session = session
                self.offset = offset
                self.records = records
                self.replaces = replaces
            }
        }
        package struct Reply: Codable, Sendable {
            package var counts: ImportCounts
            /// Whether the bytes so far end where a record does.
            package var isWhole: Bool
            package init(counts: ImportCounts, isWhole: Bool) {
                self.counts = counts
                self.isWhole = isWhole
            }
        }
    }

    package enum End: VarlinkMethod {
        package static let name = "io.touchstone.Backup.End"
        package typealias Parameters = EnclaveInterface.EndBackup.Parameters
        package typealias Reply = Empty
    }

    // MARK: damage

    /// One row that is not as it was written, as far as that can be said without its secrets.
    package struct DamagedRow: Codable, Hashable, Sendable {
        package var row: Int64
        /// The code of its class; absent where that cannot be read.
        package var itemClass: String?
        package var protection: String?
        /// Seconds since 2001-01-01 UTC; absent where the attributes do not open.
        package var created: Double?
        package var problem: Problem
        package init(
            row: Int64, itemClass: String? = nil, protection: String? = nil, created: Double? = nil, problem: Problem
        ) {
            self.row = row
            self.itemClass = itemClass
            self.protection = protection
            self.created = created
            self.problem = problem
        }
    }

    package enum Problem: String, Codable, Sendable {
        /// It is not as the table's columns are.
        case malformed
        case attributes
        /// A tag does not fit the attribute it stands for: searches by it miss the item. Can be made anew.
        case tags
        case secret
    }

    /// One row with an access control that the device refuses: it, or one of its group, was altered from outside.
    package struct AlteredRow: Codable, Hashable, Sendable {
        package var row: Int64
        package var itemClass: String
        /// The access group, which has the name of the app or of its family.
        package var app: String
        /// Seconds since 2001-01-01 UTC.
        package var created: Double?
        package init(row: Int64, itemClass: String, app: String, created: Double?) {
            self.row = row
            self.itemClass = itemClass
            self.app = app
            self.created = created
        }
    }

    /// Looks at the next rows.
    package enum Check: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Check"
        package struct Parameters: Codable, Sendable {
            /// `next` of the reply before; absent: from the beginning, with the database itself.
            package var after: Int64?
            /// Whether damaged rows are put aside, and wrong tags and indexes made anew.
            package var repairs: Bool
            package init(after: Int64?, repairs: Bool) {
                self.after = after
                self.repairs = repairs
            }
        }
        package struct Reply: Codable, Sendable {
            /// What SQLite has to say of the file; none is good.
            package var database: [String]
            package var damaged: [DamagedRow]
            package var checked: Int
            /// Rows whose class is locked: of these nothing but the form was looked at.
            package var locked: Int
            /// Rows that could never be opened again by what their owner did: removed passcode, other fingers.
            package var expired: Int
            /// Rows that were put aside, now and earlier.
            package var quarantined: Int
            package var total: Int
            package var next: Int64?
            /// Rows of groups that were altered from outside; absent: none.
            package var altered: [AlteredRow]?
            /// How many such groups there are, in the first reply; absent: none.
            package var alteredGroups: Int?
            package init(
                database: [String] = [], damaged: [DamagedRow] = [], checked: Int = 0, locked: Int = 0,
                expired: Int = 0, quarantined: Int = 0, total: Int = 0, next: Int64? = nil
            ) {
                self.database = database
                self.damaged = damaged
                self.checked = checked
                self.locked = locked
                self.expired = expired
                self.quarantined = quarantined
                self.total = total
                self.next = next
            }
        }
    }

    /// Only the owner of the device may do this.
    package struct NotOwner: VarlinkError {
        package static let name = "io.touchstone.Backup.NotOwner"
        package init() {}
    }

    /// There is no such session (any more): the owner did not agree, the device was locked, or another one began.
    package struct NoSuchSession: VarlinkError {
        package static let name = "io.touchstone.Backup.NoSuchSession"
        package init() {}
    }

    /// The records are not as a backup's are.
    package struct Malformed: VarlinkError {
        package static let name = "io.touchstone.Backup.Malformed"
        package init() {}
    }

    /// The keychain could not be read or written; the code is an `OSStatus`.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Backup.Failed"
        package var status: Int32
        package init(_ status: Status) { self.status = status.rawValue }
    }
}
