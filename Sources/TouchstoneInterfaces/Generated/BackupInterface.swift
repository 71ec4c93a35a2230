// Written by script/interfaces from io.touchstone.Backup.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// The keychain as a whole, for its owner: backup, looking for damage, and what each app may keep.
///
/// No app's library calls it.
///
/// Only the device's owner (the same user) gets an answer. A backup also needs the owner's passcode: AuthorizeBackup of
/// io.touchstone.Device begins a session in the enclave. The owner's program chooses the session's key, and touchstoned
/// never sees it. The enclave wraps the keys of items under that key before they go into a backup. Keys of the
/// this-device-only classes are wrapped under a key of the root of trust (KC-25). Bytes are base64 (RFC 4648, with
/// padding) wherever a comment says so; docs/storage-format.md describes the records.
///
/// session is the HMAC-SHA256 of "io.touchstone backup session" under the backup's key, in hexadecimal. A session ends
/// with End, when the device locks, and when another session begins.
package enum BackupInterface {
    package static let name = "io.touchstone.Backup"

    /// What happened to the items of one reply.
    package struct ExportCounts: MessageCodable, Hashable {
        package var exported: Int
        /// How many of them open only on the same root of trust (KC-25).
        package var thisDeviceOnly: Int
        /// Left out: they need the owner, need a passcode to be set, or are in the enclave (KC-26).
        package var excluded: Int
        /// Left out: they cannot be opened.
        package var damaged: Int

        package init(exported: Int, thisDeviceOnly: Int, excluded: Int, damaged: Int) {
            self.exported = exported
            self.thisDeviceOnly = thisDeviceOnly
            self.excluded = excluded
            self.damaged = damaged
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.exported = try json.value("exported")
            self.thisDeviceOnly = try json.value("thisDeviceOnly")
            self.excluded = try json.value("excluded")
            self.damaged = try json.value("damaged")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(exported, for: "exported")
            try json.write(thisDeviceOnly, for: "thisDeviceOnly")
            try json.write(excluded, for: "excluded")
            try json.write(damaged, for: "damaged")
            json.endObject()
        }
    }

    /// What happened to the items of one call.
    package struct ImportCounts: MessageCodable, Hashable {
        package var added: Int
        /// They replaced an item that was there.
        package var replaced: Int
        /// Not imported: an item with the same primary key or the same reference is there.
        package var kept: Int
        /// Left out: they belong to another root of trust (KC-25).
        package var foreign: Int
        /// Left out: they cannot be opened, or this version does not know their kind.
        package var damaged: Int

        package init(added: Int, replaced: Int, kept: Int, foreign: Int, damaged: Int) {
            self.added = added
            self.replaced = replaced
            self.kept = kept
            self.foreign = foreign
            self.damaged = damaged
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.added = try json.value("added")
            self.replaced = try json.value("replaced")
            self.kept = try json.value("kept")
            self.foreign = try json.value("foreign")
            self.damaged = try json.value("damaged")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(added, for: "added")
            try json.write(replaced, for: "replaced")
            try json.write(kept, for: "kept")
            try json.write(foreign, for: "foreign")
            try json.write(damaged, for: "damaged")
            json.endObject()
        }
    }

    package enum Problem: String, CaseIterable, MessageCodable {
        /// The row does not have the form of the table's columns.
        case malformed
        /// That half cannot be opened.
        case attributes, secret
        /// Searches miss the item; the tags can be made again.
        case tags
    }

    /// One row that is not as it was written, as far as that can be seen without its secrets.
    package struct DamagedRow: MessageCodable, Hashable {
        /// 64 bits.
        package var row: Int64
        package var itemClass: String?
        /// The code of its protection class.
        package var protection: String?
        /// Seconds since 2001-01-01 00:00:00 UTC; absent where the attributes do not open.
        package var created: Double?
        package var problem: BackupInterface.Problem

        package init(
            row: Int64, itemClass: String? = nil, protection: String? = nil, created: Double? = nil,
            problem: BackupInterface.Problem
        ) {
            self.row = row
            self.itemClass = itemClass
            self.protection = protection
            self.created = created
            self.problem = problem
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.row = try json.value("row")
            self.itemClass = try json.valueIfPresent("itemClass")
            self.protection = try json.valueIfPresent("protection")
            self.created = try json.valueIfPresent("created")
            self.problem = try json.value("problem")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(row, for: "row")
            try json.write(itemClass, for: "itemClass")
            try json.write(protection, for: "protection")
            try json.write(created, for: "created")
            try json.write(problem, for: "problem")
            json.endObject()
        }
    }

    /// One row with an access control that the device refuses to open, because this row or another row of its group was
    /// altered. app is its access group. created: seconds since 2001-01-01 00:00:00 UTC.
    package struct AlteredRow: MessageCodable, Hashable {
        /// 64 bits.
        package var row: Int64
        package var itemClass: String
        package var app: AppIdentifier
        package var created: Double?

        package init(row: Int64, itemClass: String, app: AppIdentifier, created: Double? = nil) {
            self.row = row
            self.itemClass = itemClass
            self.app = app
            self.created = created
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.row = try json.value("row")
            self.itemClass = try json.value("itemClass")
            self.app = try json.value("app")
            self.created = try json.valueIfPresent("created")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(row, for: "row")
            try json.write(itemClass, for: "itemClass")
            try json.write(app, for: "app")
            try json.write(created, for: "created")
            json.endObject()
        }
    }

    /// How many items, and how many bytes of them as they are stored: attributes, wrapped keys and secrets, encrypted.
    package struct Storage: MessageCodable, Hashable {
        package var items: Int
        package var bytes: Int

        package init(items: Int, bytes: Int) {
            self.items = items
            self.bytes = bytes
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.items = try json.value("items")
            self.bytes = try json.value("bytes")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(items, for: "items")
            try json.write(bytes, for: "bytes")
            json.endObject()
        }
    }

    /// What one access group keeps, and may keep.
    ///
    /// An app's own group has the name of the app. An item in a shared group counts for that group, whichever app added
    /// it. app is absent for all groups whose names cannot be read while the device is locked; these are one row.
    /// isDefault: the owner has not set a limit for this group.
    package struct Use: MessageCodable, Hashable {
        package var app: AppIdentifier?
        package var used: BackupInterface.Storage
        package var limit: BackupInterface.Storage
        package var isDefault: Bool

        package init(
            app: AppIdentifier? = nil, used: BackupInterface.Storage, limit: BackupInterface.Storage,
            isDefault: Bool
        ) {
            self.app = app
            self.used = used
            self.limit = limit
            self.isDefault = isDefault
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.app = try json.valueIfPresent("app")
            self.used = try json.value("used")
            self.limit = try json.value("limit")
            self.isDefault = try json.value("isDefault")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(app, for: "app")
            try json.write(used, for: "used")
            try json.write(limit, for: "limit")
            try json.write(isDefault, for: "isDefault")
            json.endObject()
        }
    }

    /// The next records (bytes, base64) of a backup. after: next of the previous reply; absent: from the beginning.
    /// next absent: that was all. total: the number of all items; 0 in every reply after the first.
    ///
    /// Each item is as it was at some moment between the first call and the last.
    ///
    /// Errors: NotOwner; NoSuchSession; Failed: -25308 the device was locked, others as for any read.
    package enum Export: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Export"
        package struct Parameters: MessageCodable {
            package var session: String
            /// 64 bits.
            package var after: Int64?

            package init(session: String, after: Int64? = nil) {
                self.session = session
                self.after = after
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.session = try json.value("session")
                self.after = try json.valueIfPresent("after")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(session, for: "session")
                try json.write(after, for: "after")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var records: Data
            /// 64 bits.
            package var next: Int64?
            package var counts: BackupInterface.ExportCounts
            package var total: Int

            package init(records: Data, next: Int64? = nil, counts: BackupInterface.ExportCounts, total: Int) {
                self.records = records
                self.next = next
                self.counts = counts
                self.total = total
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.records = try json.value("records")
                self.next = try json.valueIfPresent("next")
                self.counts = try json.value("counts")
                self.total = try json.value("total")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(records, for: "records")
                try json.write(next, for: "next")
                try json.write(counts, for: "counts")
                try json.write(total, for: "total")
                json.endObject()
            }
        }
    }

    /// Takes the next records (bytes, base64) of a backup, cut at any byte. offset: how many bytes came before them; 0
    /// starts again.
    ///
    /// When it answers, all items with whole records are on the disk; after an error, none of them is. Giving the same
    /// records again changes nothing. replaces: an item of the backup replaces the item that is there; otherwise the
    /// item that is there stays. isWhole: the bytes so far end at the end of a record.
    ///
    /// Errors: NotOwner; NoSuchSession; Malformed, also for an offset that is not where the last call ended; Failed:
    /// -25308 the device was locked, -36 the disk is full, others as for any write.
    package enum Import: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Import"
        package struct Parameters: MessageCodable {
            package var session: String
            package var offset: Int
            package var records: Data
            package var replaces: Bool

            package init(session: String, offset: Int, records: Data, replaces: Bool) {
                self.session = session
                self.offset = offset
                self.records = records
                self.replaces = replaces
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.session = try json.value("session")
                self.offset = try json.value("offset")
                self.records = try json.value("records")
                self.replaces = try json.value("replaces")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(session, for: "session")
                try json.write(offset, for: "offset")
                try json.write(records, for: "records")
                try json.write(replaces, for: "replaces")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var counts: BackupInterface.ImportCounts
            package var isWhole: Bool

            package init(counts: BackupInterface.ImportCounts, isWhole: Bool) {
                self.counts = counts
                self.isWhole = isWhole
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.counts = try json.value("counts")
                self.isWhole = try json.value("isWhole")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(counts, for: "counts")
                try json.write(isWhole, for: "isWhole")
                json.endObject()
            }
        }
    }

    /// Ends a session.
    ///
    /// It is no error if the session does not exist.
    package enum End: VarlinkMethod {
        package static let name = "io.touchstone.Backup.End"
        package struct Parameters: MessageCodable {
            package var session: String

            package init(session: String) {
                self.session = session
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.session = try json.value("session")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(session, for: "session")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Checks the next rows.
    ///
    /// The first call, without after, also checks the database file. database: what SQLite finds wrong with it. locked:
    /// rows of a class that is locked; only their form was checked. expired: rows that their owner made unreadable (a
    /// removed passcode, other fingers); they are removed when they are found. quarantined: rows put aside, now and
    /// earlier. next absent: that was all.
    ///
    /// altered: rows of altered groups, as far as their classes are open; absent: there are none. In an altered group,
    /// a program other than touchstoned has put an older row back or taken one away. Apps get -26275 for these rows
    /// until AcceptItems of io.touchstone.Device. alteredGroups: how many such groups there are, in the first reply;
    /// absent: there are none. Such a group may have no row left. look: the name of this check, for AcceptItems, in the
    /// first reply; absent before anything was recorded.
    ///
    /// repairs: damaged rows are put aside, where they are kept but no search finds them. Wrong tags and indexes are
    /// made again. Without repairs, nothing changes.
    ///
    /// Errors: NotOwner; Failed.
    package enum Check: VarlinkMethod {
        package static let name = "io.touchstone.Backup.Check"
        package struct Parameters: MessageCodable {
            /// 64 bits.
            package var after: Int64?
            package var repairs: Bool

            package init(after: Int64? = nil, repairs: Bool) {
                self.after = after
                self.repairs = repairs
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.after = try json.valueIfPresent("after")
                self.repairs = try json.value("repairs")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(after, for: "after")
                try json.write(repairs, for: "repairs")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var database: [String]
            package var damaged: [BackupInterface.DamagedRow]
            package var checked: Int
            package var locked: Int
            package var expired: Int
            package var quarantined: Int
            package var total: Int
            /// 64 bits.
            package var next: Int64?
            package var altered: [BackupInterface.AlteredRow]?
            package var alteredGroups: Int?
            package var look: String?

            package init(
                database: [String], damaged: [BackupInterface.DamagedRow], checked: Int, locked: Int, expired: Int,
                quarantined: Int, total: Int, next: Int64? = nil, altered: [BackupInterface.AlteredRow]? = nil,
                alteredGroups: Int? = nil, look: String? = nil
            ) {
                self.database = database
                self.damaged = damaged
                self.checked = checked
                self.locked = locked
                self.expired = expired
                self.quarantined = quarantined
                self.total = total
                self.next = next
                self.altered = altered
                self.alteredGroups = alteredGroups
                self.look = look
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.database = try json.value("database")
                self.damaged = try json.value("damaged")
                self.checked = try json.value("checked")
                self.locked = try json.value("locked")
                self.expired = try json.value("expired")
                self.quarantined = try json.value("quarantined")
                self.total = try json.value("total")
                self.next = try json.valueIfPresent("next")
                self.altered = try json.valueIfPresent("altered")
                self.alteredGroups = try json.valueIfPresent("alteredGroups")
                self.look = try json.valueIfPresent("look")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(database, for: "database")
                try json.write(damaged, for: "damaged")
                try json.write(checked, for: "checked")
                try json.write(locked, for: "locked")
                try json.write(expired, for: "expired")
                try json.write(quarantined, for: "quarantined")
                try json.write(total, for: "total")
                try json.write(next, for: "next")
                try json.write(altered, for: "altered")
                try json.write(alteredGroups, for: "alteredGroups")
                try json.write(look, for: "look")
                json.endObject()
            }
        }
    }

    /// What each access group keeps, and may keep. limit: of every group without a limit of its own. putAside: rows
    /// that cannot be opened, which were put aside now or earlier; they count for no group.
    ///
    /// Errors: NotOwner; Failed.
    package enum ListUse: VarlinkMethod {
        package static let name = "io.touchstone.Backup.ListUse"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var uses: [BackupInterface.Use]
            package var limit: BackupInterface.Storage
            package var putAside: Int

            package init(uses: [BackupInterface.Use], limit: BackupInterface.Storage, putAside: Int) {
                self.uses = uses
                self.limit = limit
                self.putAside = putAside
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.uses = try json.value("uses")
                self.limit = try json.value("limit")
                self.putAside = try json.value("putAside")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(uses, for: "uses")
                try json.write(limit, for: "limit")
                try json.write(putAside, for: "putAside")
                json.endObject()
            }
        }
    }

    /// Sets what an access group may keep.
    ///
    /// Without limit, the group gets the limit of all others again. What it keeps already stays, even if that is more.
    /// From then on, an Add, or an Update that makes an item larger, gets -34 if the group would keep more. An import
    /// is counted but never refused, because the owner asked for it.
    ///
    /// app is 1 to 1,024 bytes, items at most 1,000,000,000, bytes at most 2^40; other values are an InvalidParameter.
    /// At most 1,000 groups have a limit of their own. The limits are part of the keychain: erasing the device removes
    /// them.
    ///
    /// Errors: NotOwner; Failed: -34 too many limits, others as for any write. After any error nothing has changed.
    package enum SetQuota: VarlinkMethod {
        package static let name = "io.touchstone.Backup.SetQuota"
        package struct Parameters: MessageCodable {
            package var app: AppIdentifier
            package var limit: BackupInterface.Storage?

            package init(app: AppIdentifier, limit: BackupInterface.Storage? = nil) {
                self.app = app
                self.limit = limit
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.limit = try json.valueIfPresent("limit")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(limit, for: "limit")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The caller is another user.
    package struct NotOwner: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Backup.NotOwner"

        package init() {}
    }

    /// There is no such session for this direction, or it has ended: the owner did not agree, the device was locked, or
    /// another session began.
    ///
    /// Nothing was done.
    package struct NoSuchSession: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Backup.NoSuchSession"

        package init() {}
    }

    /// The records are not those of a backup.
    ///
    /// This call changed nothing.
    package struct Malformed: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Backup.Malformed"

        package init() {}
    }

    /// The keychain could not be read or written. status: an OSStatus.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Backup.Failed"
        package var status: Int32

        package init(status: Int32) {
            self.status = status
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.status = try json.value("status")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(status, for: "status")
            json.endObject()
        }
    }
}
