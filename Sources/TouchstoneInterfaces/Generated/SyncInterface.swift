// Written by script/interfaces from io.touchstone.Sync.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// Synchronizing: the keychain on all of one's devices.
///
/// The devices that trust each other are a circle. Their keys are in their enclaves. The program touchstone-sync
/// carries sealed objects between this interface and a store, and has no key (SY-32). The owner's command founds a
/// circle, joins one, and changes its members. Only the device's owner (the same user) gets an answer.
///
/// Objects are opaque bytes. docs/decisions/DEC-460.md says what is in them. A name that an object has in a store never
/// gets other bytes. So a program may put an object twice, and give one to the device twice. Members are named by 64
/// hexadecimal digits. Bytes are base64 (RFC 4648, with padding) wherever a comment says so.
package enum SyncInterface {
    package static let name = "io.touchstone.Sync"

    package enum Kind: String, CaseIterable, MessageCodable {
        /// One version of one item, or its tombstone.
        case record
        /// What its member has written and seen so far.
        case head
    }

    /// Something sealed, of one member.
    ///
    /// Kind, member and counter name it: there is one such object at most.
    package struct SealedObject: MessageCodable, Hashable {
        package var kind: SyncInterface.Kind
        package var member: String
        /// 64 bits, from 1 on.
        package var counter: Int64
        /// base64
        package var bytes: Data

        package init(kind: SyncInterface.Kind, member: String, counter: Int64, bytes: Data) {
            self.kind = kind
            self.member = member
            self.counter = counter
            self.bytes = bytes
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.kind = try json.value("kind")
            self.member = try json.value("member")
            self.counter = try json.value("counter")
            self.bytes = try json.value("bytes")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(kind, for: "kind")
            try json.write(member, for: "member")
            try json.write(counter, for: "counter")
            try json.write(bytes, for: "bytes")
            json.endObject()
        }
    }

    /// The name of an object.
    package struct ObjectName: MessageCodable, Hashable {
        package var kind: SyncInterface.Kind
        package var member: String
        /// 64 bits, from 1 on.
        package var counter: Int64

        package init(kind: SyncInterface.Kind, member: String, counter: Int64) {
            self.kind = kind
            self.member = member
            self.counter = counter
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.kind = try json.value("kind")
            self.member = try json.value("member")
            self.counter = try json.value("counter")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(kind, for: "kind")
            try json.write(member, for: "member")
            try json.write(counter, for: "counter")
            json.endObject()
        }
    }

    package enum Verdict: String, CaseIterable, MessageCodable {
        /// It is on the disk, or it was before.
        case taken
        /// Give it again later, because the class of its item is locked, its clock is more than a day ahead of this
        /// device's, or a link of the chain is missing.
        case waiting
        /// Its member has dropped it since.
        case repeated
        /// It is not what its name says, its signature is wrong, or it does not open.
        case forged
        /// Its writer is no member, or was removed before.
        case notMember
    }

    /// This device's own objects for the store, in the order of their making, at most 1,000 and 4 MiB of them. after:
    /// next of an earlier reply; absent: all that are alive, for a store that may have lost some. dropped: own objects
    /// that the store should delete, which were replaced and are known to all members. next: where to go on; the same
    /// as after if there was nothing.
    ///
    /// Errors: NotOwner; NoCircle; Failed.
    package enum ListObjects: VarlinkMethod {
        package static let name = "io.touchstone.Sync.ListObjects"
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
            package var objects: [SyncInterface.SealedObject]
            package var dropped: [SyncInterface.ObjectName]
            /// 64 bits.
            package var next: Int64

            package init(objects: [SyncInterface.SealedObject], dropped: [SyncInterface.ObjectName], next: Int64) {
                self.objects = objects
                self.dropped = dropped
                self.next = next
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.objects = try json.value("objects")
                self.dropped = try json.value("dropped")
                self.next = try json.value("next")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(objects, for: "objects")
                try json.write(dropped, for: "dropped")
                try json.write(next, for: "next")
                json.endObject()
            }
        }
    }

    /// Takes objects of any member, in any order, at most 1,000. verdicts: one for each.
    ///
    /// Own objects are recognised: if the store has newer ones than this device, the device was restored from a copy,
    /// and counts on from there.
    ///
    /// Errors: NotOwner; NoCircle; Failed: -36 the disk is full, others as for any write. After an error nothing was
    /// taken. A request may be 24 MiB.
    package enum AddObjects: VarlinkMethod {
        package static let name = "io.touchstone.Sync.AddObjects"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: MessageCodable {
            package var objects: [SyncInterface.SealedObject]

            package init(objects: [SyncInterface.SealedObject]) {
                self.objects = objects
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.objects = try json.value("objects")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(objects, for: "objects")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var verdicts: [SyncInterface.Verdict]

            package init(verdicts: [SyncInterface.Verdict]) {
                self.verdicts = verdicts
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.verdicts = try json.value("verdicts")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(verdicts, for: "verdicts")
                json.endObject()
            }
        }
    }

    /// Links (bytes, base64) of the circle's chain from number after + 1 on, at most 100. after absent: from the first,
    /// which has number 0.
    ///
    /// The last may be one that this device proposes: it counts once AddLinks brought it back from the store.
    ///
    /// Errors: NotOwner; NoCircle.
    package enum ListLinks: VarlinkMethod {
        package static let name = "io.touchstone.Sync.ListLinks"
        package struct Parameters: MessageCodable {
            package var after: Int?

            package init(after: Int? = nil) {
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
            package var links: [String]

            package init(links: [String]) {
                self.links = links
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                json.endObject()
            }
        }
    }

    /// Extends the chain by links (bytes, base64), the next one first.
    ///
    /// Links that the device has already are accepted if they are the same. A link that this device proposed is dropped
    /// if its place is taken by another. count: how many links the chain has now.
    ///
    /// Errors: NotOwner; NoCircle; Refused: forked, invalidLink. After an error the chain is as it was.
    package enum AddLinks: VarlinkMethod {
        package static let name = "io.touchstone.Sync.AddLinks"
        package struct Parameters: MessageCodable {
            package var links: [Data]

            package init(links: [Data]) {
                self.links = links
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var count: Int

            package init(count: Int) {
                self.count = count
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.count = try json.value("count")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(count, for: "count")
                json.endObject()
            }
        }
    }

    /// Waits until there is something new for ListObjects or ListLinks.
    ///
    /// Answers at once, and again at each change. next is what ListObjects would end with, count the number of links.
    ///
    /// Errors: NotOwner; NoCircle.
    package enum Monitor: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Monitor"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            /// 64 bits.
            package var next: Int64
            package var count: Int

            package init(next: Int64, count: Int) {
                self.next = next
                self.count = count
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.next = try json.value("next")
                self.count = try json.value("count")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(next, for: "next")
                try json.write(count, for: "count")
                json.endObject()
            }
        }
    }

    /// One device of the circle, or a recovery key. lastHeard: the time of its newest head, in seconds since 2001-01-01
    /// 00:00:00 UTC; absent: never. isComplete: everything that its newest head covers is here. fault: what the store,
    /// or the member, did wrong: missing: it withholds or dropped records. rolledBack: it gave back an older state of
    /// this member. forked: this member has another chain. clock: this member's clock is more than a day ahead.
    package struct Member: MessageCodable, Hashable {
        package var member: String
        package var name: String
        package var isThisDevice: Bool
        package var isRecoveryKey: Bool
        package var lastHeard: Double?
        package var isComplete: Bool
        package var fault: SyncInterface.Fault?

        package init(
            member: String, name: String, isThisDevice: Bool, isRecoveryKey: Bool, lastHeard: Double? = nil,
            isComplete: Bool, fault: SyncInterface.Fault? = nil
        ) {
            self.member = member
            self.name = name
            self.isThisDevice = isThisDevice
            self.isRecoveryKey = isRecoveryKey
            self.lastHeard = lastHeard
            self.isComplete = isComplete
            self.fault = fault
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.member = try json.value("member")
            self.name = try json.value("name")
            self.isThisDevice = try json.value("isThisDevice")
            self.isRecoveryKey = try json.value("isRecoveryKey")
            self.lastHeard = try json.valueIfPresent("lastHeard")
            self.isComplete = try json.value("isComplete")
            self.fault = try json.valueIfPresent("fault")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(member, for: "member")
            try json.write(name, for: "name")
            try json.write(isThisDevice, for: "isThisDevice")
            try json.write(isRecoveryKey, for: "isRecoveryKey")
            try json.write(lastHeard, for: "lastHeard")
            try json.write(isComplete, for: "isComplete")
            try json.write(fault, for: "fault")
            json.endObject()
        }
    }

    package enum Fault: String, CaseIterable, MessageCodable {
        case missing, rolledBack, forked, clock
    }

    /// circle: the circle's identifier, 64 hexadecimal digits; absent: this device is in no circle. epoch: the number
    /// of the circle's present key. waiting: objects that were given and wait. isExpired: this device was away for
    /// longer than 180 days, and has to join again (SY-21). incoming: items of others that have come and are on their
    /// way into the keychain; absent: nothing is on its way.
    ///
    /// Errors: NotOwner.
    package enum GetStatus: VarlinkMethod {
        package static let name = "io.touchstone.Sync.GetStatus"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var circle: String?
            package var epoch: Int?
            package var links: Int
            package var members: [SyncInterface.Member]
            package var waiting: Int
            package var isExpired: Bool
            package var incoming: Int?

            package init(
                circle: String? = nil, epoch: Int? = nil, links: Int, members: [SyncInterface.Member], waiting: Int,
                isExpired: Bool, incoming: Int? = nil
            ) {
                self.circle = circle
                self.epoch = epoch
                self.links = links
                self.members = members
                self.waiting = waiting
                self.isExpired = isExpired
                self.incoming = incoming
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.circle = try json.valueIfPresent("circle")
                self.epoch = try json.valueIfPresent("epoch")
                self.links = try json.value("links")
                self.members = try json.value("members")
                self.waiting = try json.value("waiting")
                self.isExpired = try json.value("isExpired")
                self.incoming = try json.valueIfPresent("incoming")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(circle, for: "circle")
                try json.write(epoch, for: "epoch")
                try json.write(links, for: "links")
                try json.write(members, for: "members")
                try json.write(waiting, for: "waiting")
                try json.write(isExpired, for: "isExpired")
                try json.write(incoming, for: "incoming")
                json.endObject()
            }
        }
    }

    /// A nonce (bytes, base64) for one Found, Approve, Join, Remove, AddRecoveryKey, Recover, ListReplaced or Restore,
    /// used or not.
    ///
    /// Errors: NotOwner.
    package enum GetNonce: VarlinkMethod {
        package static let name = "io.touchstone.Sync.GetNonce"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var nonce: Data

            package init(nonce: Data) {
                self.nonce = nonce
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.nonce = try json.value("nonce")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(nonce, for: "nonce")
                json.endObject()
            }
        }
    }

    /// Founds a circle, of which this device is the first member. name: what other devices call it, 1 to 64 bytes of
    /// UTF-8 without control characters. passcode is sealed for "found circle NAME".
    ///
    /// Errors: NotOwner; PasscodeRejected; Refused: inCircle, invalidName, passcodeNotSet, locked, busy, staleNonce,
    /// unreadablePasscode.
    package enum Found: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Found"
        package struct Parameters: MessageCodable {
            package var name: String
            package var passcode: SealedPasscode

            package init(name: String, passcode: SealedPasscode) {
                self.name = name
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Begins to join a circle: makes this device's keys. application (bytes, base64) is for the store.
    ///
    /// A new call takes the place of an earlier one.
    ///
    /// Errors: NotOwner; Refused: inCircle, invalidName, passcodeNotSet, locked.
    package enum Apply: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Apply"
        package struct Parameters: MessageCodable {
            package var name: String

            package init(name: String) {
                self.name = name
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var application: Data

            package init(application: Data) {
                self.application = application
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                json.endObject()
            }
        }
    }

    /// For a member: answers an application (bytes, base64) that the owner picked. challenge (bytes, base64) is for the
    /// store, and for the command, which computes the digits from it.
    ///
    /// The same application gets the same challenge, as long as it is the newest and the device is not restarted. The
    /// device answers five at most until its passcode is given again, so that nobody can search for digits.
    ///
    /// Errors: NotOwner; NoCircle; Refused: invalidApplication, nameTaken, removed, full, tooOften, locked.
    package enum Challenge: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Challenge"
        package struct Parameters: MessageCodable {
            package var application: Data

            package init(application: Data) {
                self.application = application
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var challenge: Data

            package init(challenge: Data) {
                self.challenge = challenge
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.challenge = try json.value("challenge")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(challenge, for: "challenge")
                json.endObject()
            }
        }
    }

    /// For a device that applied: answers the first challenge (bytes, base64) with its reveal (bytes, base64), which is
    /// for the store, and for the command, which computes the digits from it.
    ///
    /// Every other challenge is refused, and five devices' worth of reveals are made at most until the passcode is
    /// given again.
    ///
    /// Errors: NotOwner; Refused: noApplication, invalidChallenge, otherChallenge, tooOften, locked.
    package enum Reveal: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Reveal"
        package struct Parameters: MessageCodable {
            package var challenge: Data

            package init(challenge: Data) {
                self.challenge = challenge
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.challenge = try json.value("challenge")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(challenge, for: "challenge")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var reveal: Data

            package init(reveal: Data) {
                self.reveal = reveal
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.reveal = try json.value("reveal")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(reveal, for: "reveal")
                json.endObject()
            }
        }
    }

    /// Adds the device that applied to the circle, after the owner compared the digits. passcode is sealed for "approve
    /// device DIGEST": 64 hexadecimal digits, which the command computes from application, challenge and reveal
    /// (docs/decisions/DEC-460.md).
    ///
    /// ListLinks lists the new link, which counts once AddLinks brought it back from the store.
    ///
    /// Errors: NotOwner; NoCircle; PasscodeRejected; Refused: invalidApplication, nameTaken, invalidReveal,
    /// noChallenge, full, removed, passcodeNotSet, locked, busy, staleNonce, unreadablePasscode.
    package enum Approve: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Approve"
        package struct Parameters: MessageCodable {
            /// base64
            package var application: Data
            /// base64
            package var reveal: Data
            package var passcode: SealedPasscode

            package init(application: Data, reveal: Data, passcode: SealedPasscode) {
                self.application = application
                self.reveal = reveal
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.application = try json.value("application")
                self.reveal = try json.value("reveal")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(application, for: "application")
                try json.write(reveal, for: "reveal")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Joins the circle, after the owner compared the digits on both devices. links (bytes, base64): its whole chain.
    /// passcode is sealed for "join circle DIGEST", with the digest of Approve.
    ///
    /// Errors: NotOwner; PasscodeRejected; Refused: inCircle; noApplication; otherChallenge: the link that adds this
    /// device is not by the approver whose digits were shown; invalidLink, passcodeNotSet, locked, busy, staleNonce,
    /// unreadablePasscode.
    package enum Join: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Join"
        package struct Parameters: MessageCodable {
            package var links: [Data]
            package var passcode: SealedPasscode

            package init(links: [Data], passcode: SealedPasscode) {
                self.links = links
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Removes a member and begins a new epoch. passcode is sealed for "remove device MEMBER NAME", with the name that
    /// the chain has for it.
    ///
    /// ListLinks lists the new link, which counts once AddLinks brought it back from the store. This device leaves with
    /// its own member; its items stay. If its link cannot reach the store, a second call forgets the circle at once, as
    /// the last member does.
    ///
    /// Errors: NotOwner; NoCircle; PasscodeRejected; Refused: noMember, passcodeNotSet, locked, busy, staleNonce,
    /// unreadablePasscode.
    package enum Remove: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Remove"
        package struct Parameters: MessageCodable {
            package var member: String
            package var name: String
            package var passcode: SealedPasscode

            package init(member: String, name: String, passcode: SealedPasscode) {
                self.member = member
                self.name = name
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.member = try json.value("member")
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(member, for: "member")
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Adds a recovery key: a member without a device, which brings everything back if all devices are lost (SY-14).
    ///
    /// The command makes its secret, 16 random bytes, and shows the owner the words for it. passcode has two entries,
    /// the passcode and the secret, sealed for "add recovery key NAME". ListLinks lists the new link, which counts once
    /// AddLinks brought it back from the store.
    ///
    /// Errors: NotOwner; NoCircle; PasscodeRejected; Refused: invalidName, nameTaken, full, wrongRecoveryKey (draw
    /// another secret), passcodeNotSet, locked, busy, staleNonce, unreadablePasscode.
    package enum AddRecoveryKey: VarlinkMethod {
        package static let name = "io.touchstone.Sync.AddRecoveryKey"
        package struct Parameters: MessageCodable {
            package var name: String
            package var passcode: SealedPasscode

            package init(name: String, passcode: SealedPasscode) {
                self.name = name
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Comes into a circle by a recovery key, on a device that is in none. links (bytes, base64): its whole chain.
    /// name: what other devices will call this one. passcode has two entries, the passcode of this device and the key's
    /// secret, sealed for "recover circle HEAD NAME": HEAD is the hash of the last link, 64 hexadecimal digits.
    ///
    /// ListLinks lists the chain and the link that adds this device. It is a member once AddLinks brought that back
    /// from the store, and GetStatus names no circle before. If another link has its place, the device is in no circle
    /// again.
    ///
    /// Errors: NotOwner; PasscodeRejected; Refused: inCircle; wrongRecoveryKey: the circle has no such recovery key;
    /// removedRecoveryKey: it was removed; invalidName, nameTaken, full, invalidLink, passcodeNotSet, locked, busy,
    /// staleNonce, unreadablePasscode.
    package enum Recover: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Recover"
        package struct Parameters: MessageCodable {
            /// base64
            package var links: [Data]
            package var name: String
            package var passcode: SealedPasscode

            package init(links: [Data], name: String, passcode: SealedPasscode) {
                self.links = links
                self.name = name
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.links = try json.value("links")
                self.name = try json.value("name")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(links, for: "links")
                try json.write(name, for: "name")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// A version that was in this device's keychain until another device's change took its place (SY-20). replacedAt,
    /// writtenAt: seconds since 2001-01-01 00:00:00 UTC. writer: the member that wrote it, 64 hexadecimal digits.
    /// writerName: what it is called; absent: it was removed. itemClass: genp, inet, cert or keys. place and account:
    /// service and account of a password, server and account of an internet password; absent where the item has none.
    /// label: kSecAttrLabel.
    package struct ReplacedVersion: MessageCodable, Hashable {
        /// 64 bits.
        package var number: Int64
        package var replacedAt: Double
        package var writtenAt: Double
        package var writer: String
        package var writerName: String?
        package var itemClass: String
        package var accessGroup: AccessGroup
        package var place: String?
        package var account: String?
        package var label: String?

        package init(
            number: Int64, replacedAt: Double, writtenAt: Double, writer: String, writerName: String? = nil,
            itemClass: String, accessGroup: AccessGroup, place: String? = nil, account: String? = nil,
            label: String? = nil
        ) {
            self.number = number
            self.replacedAt = replacedAt
            self.writtenAt = writtenAt
            self.writer = writer
            self.writerName = writerName
            self.itemClass = itemClass
            self.accessGroup = accessGroup
            self.place = place
            self.account = account
            self.label = label
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.number = try json.value("number")
            self.replacedAt = try json.value("replacedAt")
            self.writtenAt = try json.value("writtenAt")
            self.writer = try json.value("writer")
            self.writerName = try json.valueIfPresent("writerName")
            self.itemClass = try json.value("itemClass")
            self.accessGroup = try json.value("accessGroup")
            self.place = try json.valueIfPresent("place")
            self.account = try json.valueIfPresent("account")
            self.label = try json.valueIfPresent("label")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(number, for: "number")
            try json.write(replacedAt, for: "replacedAt")
            try json.write(writtenAt, for: "writtenAt")
            try json.write(writer, for: "writer")
            try json.write(writerName, for: "writerName")
            try json.write(itemClass, for: "itemClass")
            try json.write(accessGroup, for: "accessGroup")
            try json.write(place, for: "place")
            try json.write(account, for: "account")
            try json.write(label, for: "label")
            json.endObject()
        }
    }

    /// The versions that are kept: at most ten of an item, for 30 days, and at most 1,000 are listed, the newest first.
    ///
    /// Only the device that had a version keeps it. passcode is sealed for "show history".
    ///
    /// Errors: NotOwner; NoCircle; PasscodeRejected; Refused: passcodeNotSet, locked, busy, staleNonce,
    /// unreadablePasscode; Failed.
    package enum ListReplaced: VarlinkMethod {
        package static let name = "io.touchstone.Sync.ListReplaced"
        package struct Parameters: MessageCodable {
            package var passcode: SealedPasscode

            package init(passcode: SealedPasscode) {
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var versions: [SyncInterface.ReplacedVersion]

            package init(versions: [SyncInterface.ReplacedVersion]) {
                self.versions = versions
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.versions = try json.value("versions")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(versions, for: "versions")
                json.endObject()
            }
        }
    }

    /// Puts a version into the keychain again, as the newest one, for all devices.
    ///
    /// What it replaces is kept in turn. passcode is sealed for "restore version NUMBER".
    ///
    /// Errors: those of ListReplaced, and Refused: noVersion: no version has this number, or it can no longer be read.
    package enum Restore: VarlinkMethod {
        package static let name = "io.touchstone.Sync.Restore"
        package struct Parameters: MessageCodable {
            /// 64 bits.
            package var number: Int64
            package var passcode: SealedPasscode

            package init(number: Int64, passcode: SealedPasscode) {
                self.number = number
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.number = try json.value("number")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(number, for: "number")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    package enum Reason: String, CaseIterable, MessageCodable {
        case inCircle, invalidName, invalidApplication, invalidChallenge, invalidReveal, invalidLink
        case noApplication, noChallenge, nameTaken, otherChallenge, noMember, removed, full, tooOften, forked
        case passcodeNotSet, locked, busy, staleNonce, unreadablePasscode, wrongRecoveryKey, removedRecoveryKey
        case noVersion
    }

    /// The caller is another user.
    package struct NotOwner: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Sync.NotOwner"

        package init() {}
    }

    /// This device is in no circle.
    package struct NoCircle: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Sync.NoCircle"

        package init() {}
    }

    /// The passcode is wrong. retryAfterSeconds: until the next one is looked at.
    package struct PasscodeRejected: VarlinkError {
        package static let name = "io.touchstone.Sync.PasscodeRejected"
        package var failures: Int
        package var retryAfterSeconds: Double

        package init(failures: Int, retryAfterSeconds: Double) {
            self.failures = failures
            self.retryAfterSeconds = retryAfterSeconds
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.failures = try json.value("failures")
            self.retryAfterSeconds = try json.value("retryAfterSeconds")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(failures, for: "failures")
            try json.write(retryAfterSeconds, for: "retryAfterSeconds")
            json.endObject()
        }
    }

    /// Nothing was done, and reason says why.
    package struct Refused: VarlinkError {
        package static let name = "io.touchstone.Sync.Refused"
        package var reason: SyncInterface.Reason

        package init(reason: SyncInterface.Reason) {
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.reason = try json.value("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }

    /// The keychain could not be read or written. status: an OSStatus.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Sync.Failed"
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
