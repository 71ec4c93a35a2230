/// `io.touchstone.Inspector`: what goes on inside a simulated device, for its owner to look at.
///
/// It names things and counts them; no value, key or attribute of an item is in it, nor what a message carries.
package enum InspectorInterface {
    package static let name = "io.touchstone.Inspector"

    // MARK: items

    /// Whether an item could be opened at this moment, and what stands in the way.
    package enum Availability: String, Codable, Sendable {
        /// Its class key is there, and nobody is asked.
        case available
        /// Its class key is there, and its access control wants the owner, or a password, each time.
        case authenticationNeeded
        /// Its class key went with the lock.
        case locked
        /// Its class key comes with the first passcode after a boot.
        case notUnlockedSinceBoot
        /// Never again: it was bound to another set of fingers or faces (AC-51).
        case enrolmentChanged
        /// Never again: the passcode was removed, and its class key with it (KC-23).
        case passcodeRemoved
        /// It does not open with keys that are there.
        case damaged
    }

    package struct Item: Codable, Hashable, Sendable {
        /// The number of its row, the same for as long as the item is there.
        package var row: Int64
        /// The value of its `kSecClass…` constant; nil if it is not one of them.
        package var itemClass: String?
        /// nil: nobody can read it now, as it is encrypted like every attribute.
        package var accessGroup: String?
        package var protection: Accessibility?
        /// As `SecAccessControlCreateFlags`; nil: nobody can read it now.
        package var flags: AccessControl.Flags?
        /// Whether its value is the sealed blob of a private key that only the enclave can use.
        package var isEnclaveKey: Bool
        package var availability: Availability
        /// Why what it wants of the owner cannot be given now; nil: it can.
        package var obstacle: AuthenticationFailure?
        /// Sizes of ciphertext; the value's is padded (KC-12), and nil where there is none.
        package var attributeBytes: Int
        package var valueBytes: Int?
        package var wrappedKeyBytes: Int

        package init(row: Int64, itemClass: String?, protection: Accessibility?, availability: Availability) {
            self.row = row
            self.itemClass = itemClass
            self.protection = protection
            self.availability = availability
            isEnclaveKey = false
            attributeBytes = 0
            wrappedKeyBytes = 0
        }
    }

    /// Lists the items a page at a time, whoever's they are.
    package enum ListItems: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.ListItems"
        package struct Parameters: Codable, Sendable {
            /// The `next` of the page before; nil for the first.
            package var after: Int64?
            package init(after: Int64? = nil) { self.after = after }
        }
        package struct Reply: Codable, Sendable {
            package var items: [Item]
            /// nil: there are no more.
            package var next: Int64?
            package init(items: [Item], next: Int64?) {
                self.items = items
                self.next = next
            }
        }
    }

    // MARK: keys

    /// Where a class key is.
    package enum ClassKeyState: String, Codable, Sendable {
        /// The enclave has it open.
        case open
        /// The enclave keeps it aside while the device is locked, for a finger or face (PC-33).
        case heldForBiometry
        /// Nobody has it: it is sealed under the passcode.
        case sealed
        /// There is none: the class exists only while a passcode does (KC-23).
        case absent
    }

    package struct ClassKey: Codable, Hashable, Sendable {
        package var protection: Accessibility
        package var state: ClassKeyState
        /// Whether touchstoned has the metadata key that the enclave derives from it.
        package var hasMetadataKey: Bool
        package init(protection: Accessibility, state: ClassKeyState, hasMetadataKey: Bool) {
            self.protection = protection
            self.state = state
            self.hasMetadataKey = hasMetadataKey
        }
    }

    /// Called with `more`: which keys are where, now and after each change.
    package enum Watch: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.Watch"
        package typealias Parameters = Empty
        package struct Reply: Codable, Hashable, Sendable {
            package var keys: [ClassKey]
            /// Another number whenever `ListItems` may have something new to say.
            package var itemsRevision: Int
            package init(keys: [ClassKey], itemsRevision: Int) {
                self.keys = keys
                self.itemsRevision = itemsRevision
            }
        }
    }

    // MARK: messages

    package enum Party: String, Codable, Sendable {
        /// A program that uses the keychain or asks for the owner.
        case app
        /// The program that shows prompts.
        case agent
        /// A program with which the owner drives the device.
        case owner
        case touchstoned, enclave
    }

    /// One message on its way: a call, its answer, or one more answer of a stream.
    package struct Message: Codable, Hashable, Sendable {
        package var sequence: Int
        /// Seconds since 1970.
        package var time: Double
        package var from: Party
        package var to: Party
        /// The application identifier of the party outside the daemons; nil between the daemons.
        package var app: String?
        /// Interface and method; empty for one that nobody answers.
        package var method: String
        /// The number of the call that this one makes or answers; nil: an answer of a stream.
        package var call: Int?
        /// Of an answer: `ok`, `more`, or the name of the error; nil for a call.
        package var outcome: String?
        /// Of the last answer: how long the caller waited, in seconds.
        package var duration: Double?
        package var bytes: Int

        package init(
            sequence: Int, time: Double, from: Party, to: Party, app: String?, method: String, call: Int?,
            outcome: String?, duration: Double?, bytes: Int
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
    }

    /// Called with `more`: the messages from now on, as they pass.
    package enum WatchMessages: VarlinkMethod {
        package static let name = "io.touchstone.Inspector.WatchMessages"
        package typealias Parameters = Empty
        package struct Reply: Codable, Sendable {
            package var messages: [Message]
            /// Messages before these that were not told, as they came faster than they were read.
            package var lost: Int
            package init(messages: [Message], lost: Int) {
                self.messages = messages
                self.lost = lost
            }
        }
    }
}
