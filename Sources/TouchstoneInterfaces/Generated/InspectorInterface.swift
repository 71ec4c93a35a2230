// Written by script/interfaces from io.touchstone.Inspector.varlink. Do not edit.
// swift-format-ignore-file

package import TouchstoneCore

/// What goes on inside a simulated device: which items there are and whether they could be opened, which keys are
/// where, and which messages pass between apps, the two daemons and agents.
///
/// For its owner to look at; no app's library calls it.
///
/// Only the device's owner (the same user) gets an answer, and only from a device that was created as simulated. Any
/// other device answers NotSimulated to every method. Replies hold names and counts. They never hold a value, a key,
/// the contents of a message, or an attribute of an item other than its access group.
package enum InspectorInterface {
    package static let name = "io.touchstone.Inspector"

    /// Whether an item could be opened at this moment, and what stands in the way.
    package enum Availability: String, CaseIterable, MessageCodable {
        /// Its class key is there, and nobody has to be asked.
        case available
        /// Its class key is there, and its access control asks for the owner or a password.
        case authenticationNeeded
        /// The lock took its class key away.
        case locked
        /// Its class key comes with the first passcode after a boot.
        case notUnlockedSinceBoot
        /// It can never be opened again, because it was bound to another set of fingers or faces (AC-51).
        case enrolmentChanged
        /// It can never be opened again, because the passcode was removed (KC-23).
        case passcodeRemoved
        /// The keys that are there do not open it.
        case damaged
    }

    /// One row of the keychain.
    ///
    /// Sizes are of ciphertext.
    package struct Item: MessageCodable, Hashable {
        /// Stays the same as long as the item exists; 64 bits.
        package var row: Int64
        /// The value of its kSecClass constant: "genp", "inet", "cert", "keys".
        ///
        /// Absent if it has no such value.
        package var itemClass: String?
        /// Absent: nobody can read it now, because it is encrypted like every attribute (KC-10, KC-15).
        package var accessGroup: AccessGroup?
        /// Absent if it has no such value.
        package var protection: Accessibility?
        /// The bits of SecAccessControlCreateFlags.
        ///
        /// Absent: nobody can read them now.
        package var flags: AccessControl.Flags?
        /// Whether its value is the sealed blob of a private key, which only the enclave can use.
        ///
        /// In that case, flags are those of the key.
        package var isEnclaveKey: Bool
        package var availability: InspectorInterface.Availability
        /// LAError.Code: why the owner cannot give now what the access control asks for.
        ///
        /// Absent: the owner can.
        package var obstacle: AuthenticationFailure?
        package var attributeBytes: Int
        /// Padded to a multiple of 20 (KC-12), plus 28 for the seal.
        ///
        /// Absent: the item has no value.
        package var valueBytes: Int?
        package var wrappedKeyBytes: Int

        package init(
            row: Int64, itemClass: String? = nil, accessGroup: AccessGroup? = nil, protection: Accessibility? = nil,
            flags: AccessControl.Flags? = nil, isEnclaveKey: Bool, availability: InspectorInterface.Availability,
            obstacle: AuthenticationFailure? = nil, attributeBytes: Int, valueBytes: Int? = nil,
            wrappedKeyBytes: Int
        ) {
            self.row = row
            self.itemClass = itemClass
            self.accessGroup = accessGroup
            self.protection = protection
            self.flags = flags
            self.isEnclaveKey = isEnclaveKey
            self.availability = availability
            self.obstacle = obstacle
            self.attributeBytes = attributeBytes
            self.valueBytes = valueBytes
            self.wrappedKeyBytes = wrappedKeyBytes
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.row = try json.value("row")
            self.itemClass = try json.valueIfPresent("itemClass")
            self.accessGroup = try json.valueIfPresent("accessGroup")
            self.protection = try json.valueIfPresent("protection")
            self.flags = try json.valueIfPresent("flags")
            self.isEnclaveKey = try json.value("isEnclaveKey")
            self.availability = try json.value("availability")
            self.obstacle = try json.valueIfPresent("obstacle")
            self.attributeBytes = try json.value("attributeBytes")
            self.valueBytes = try json.valueIfPresent("valueBytes")
            self.wrappedKeyBytes = try json.value("wrappedKeyBytes")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(row, for: "row")
            try json.write(itemClass, for: "itemClass")
            try json.write(accessGroup, for: "accessGroup")
            try json.write(protection, for: "protection")
            try json.write(flags, for: "flags")
            try json.write(isEnclaveKey, for: "isEnclaveKey")
            try json.write(availability, for: "availability")
            try json.write(obstacle, for: "obstacle")
            try json.write(attributeBytes, for: "attributeBytes")
            try json.write(valueBytes, for: "valueBytes")
            try json.write(wrappedKeyBytes, for: "wrappedKeyBytes")
            json.endObject()
        }
    }

    /// The items of all apps, at most 256 in each reply. after: next of the previous reply; absent: from the beginning.
    /// next: absent at the end.
    ///
    /// Items that come or go in the meantime may be listed or not; none is listed twice.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: notOwner.
    package enum ListItems: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.ListItems"
        package struct Parameters: MessageCodable {
            /// 64 bits.
            package var after: Int64?

            package init(after: Int64? = nil) {
                self.after = after
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.after = try json.valueIfPresent("after")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(after, for: "after")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var items: [InspectorInterface.Item]
            /// 64 bits.
            package var next: Int64?

            package init(items: [InspectorInterface.Item], next: Int64? = nil) {
                self.items = items
                self.next = next
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
                self.next = try json.valueIfPresent("next")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                try json.write(next, for: "next")
                json.endObject()
            }
        }
    }

    /// Where a class key is.
    package enum ClassKeyState: String, CaseIterable, MessageCodable {
        /// The enclave has it.
        case open
        /// The enclave keeps it aside while the device is locked, for a finger or a face (PC-33).
        case heldForBiometry
        /// Nobody has it, and only the passcode brings it back.
        case sealed
        /// It does not exist, because this class exists only while a passcode is set (KC-23).
        case absent
    }

    /// A class key, and whether touchstoned has the metadata key that the enclave derives from it (KC-11, KC-15): with
    /// that it reads attributes, but no value.
    package struct ClassKey: MessageCodable, Hashable {
        package var protection: Accessibility
        package var state: InspectorInterface.ClassKeyState
        package var hasMetadataKey: Bool

        package init(protection: Accessibility, state: InspectorInterface.ClassKeyState, hasMetadataKey: Bool) {
            self.protection = protection
            self.state = state
            self.hasMetadataKey = hasMetadataKey
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.protection = try json.value("protection")
            self.state = try json.value("state")
            self.hasMetadataKey = try json.value("hasMetadataKey")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(protection, for: "protection")
            try json.write(state, for: "state")
            try json.write(hasMetadataKey, for: "hasMetadataKey")
            json.endObject()
        }
    }

    /// Which keys are where: at once, and again after each change.
    ///
    /// Call it with "more". itemsRevision changes whenever ListItems may have news. Several quick changes may come as
    /// one reply.
    ///
    /// A client that does not read what it is sent is disconnected.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: notOwner, busy (16 watch already).
    package enum Watch: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.Watch"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var keys: [InspectorInterface.ClassKey]
            package var itemsRevision: Int

            package init(keys: [InspectorInterface.ClassKey], itemsRevision: Int) {
                self.keys = keys
                self.itemsRevision = itemsRevision
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.keys = try json.value("keys")
                self.itemsRevision = try json.value("itemsRevision")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(keys, for: "keys")
                try json.write(itemsRevision, for: "itemsRevision")
                json.endObject()
            }
        }
    }

    /// Who sends or receives.
    package enum Party: String, CaseIterable, MessageCodable {
        /// A program that uses the keychain or asks for the owner.
        case app
        /// A program that shows prompts.
        case agent
        /// A program with which the owner controls the device.
        case owner
        case touchstoned, enclave
    }

    /// One message: a call, its answer, or another answer of a stream.
    package struct Message: MessageCodable, Hashable {
        /// Goes up by one with each message, from the moment when the first client began to watch.
        package var sequence: Int
        /// Seconds since 1970.
        package var time: Double
        package var from: InspectorInterface.Party
        package var to: InspectorInterface.Party
        /// Application identifier of the party that is not a daemon, at most 200 characters.
        ///
        /// Absent if both are daemons.
        package var app: AppIdentifier?
        /// Interface and method; empty for a method that nobody answers.
        package var method: String
        /// The number of this call, or of the call that it answers.
        ///
        /// Absent: another answer of a stream.
        package var call: Int?
        /// Of an answer: "ok", "more" (another answer of a stream), or the name of the error.
        ///
        /// Absent for a call.
        package var outcome: String?
        /// Of the last answer: seconds since the call.
        package var duration: Double?
        /// Of the whole message.
        package var bytes: Int

        package init(
            sequence: Int, time: Double, from: InspectorInterface.Party, to: InspectorInterface.Party,
            app: AppIdentifier? = nil, method: String, call: Int? = nil, outcome: String? = nil,
            duration: Double? = nil, bytes: Int
        ) {
            self.sequence = sequence
            self.time = time
            self.from = from
            self.to = to
            self.app = app
            self.method = method
            self.call = call
            self.outcome = outcome
            self.duration = duration
            self.bytes = bytes
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.sequence = try json.value("sequence")
            self.time = try json.value("time")
            self.from = try json.value("from")
            self.to = try json.value("to")
            self.app = try json.valueIfPresent("app")
            self.method = try json.value("method")
            self.call = try json.valueIfPresent("call")
            self.outcome = try json.valueIfPresent("outcome")
            self.duration = try json.valueIfPresent("duration")
            self.bytes = try json.value("bytes")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(sequence, for: "sequence")
            try json.write(time, for: "time")
            try json.write(from, for: "from")
            try json.write(to, for: "to")
            try json.write(app, for: "app")
            try json.write(method, for: "method")
            try json.write(call, for: "call")
            try json.write(outcome, for: "outcome")
            try json.write(duration, for: "duration")
            try json.write(bytes, for: "bytes")
            json.endObject()
        }
    }

    /// The messages from now on, as they pass.
    ///
    /// Call it with "more". The first reply is empty and means that watching has begun. lost: how many messages before
    /// these were left out, because they came faster than they were read. Calls of this interface, and what touchstoned
    /// asks the enclave for them, are not included.
    ///
    /// Errors, of io.touchstone.Device: NotSimulated. Refused: notOwner, busy (16 watch already).
    package enum WatchMessages: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.WatchMessages"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var messages: [InspectorInterface.Message]
            package var lost: Int

            package init(messages: [InspectorInterface.Message], lost: Int) {
                self.messages = messages
                self.lost = lost
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.messages = try json.value("messages")
                self.lost = try json.value("lost")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(messages, for: "messages")
                try json.write(lost, for: "lost")
                json.endObject()
            }
        }
    }
}
