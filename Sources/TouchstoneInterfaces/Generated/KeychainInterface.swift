// Written by script/interfaces from io.touchstone.Keychain.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// The keychain: items, addressed by dictionaries.
///
/// A dictionary has the values of Apple's constants as its keys ("class", "acct", "r_Data", ...). The daemon reads
/// dictionaries; a client only carries them. Bytes are base64 (RFC 4648, with padding) wherever a comment says so.
///
/// The caller is not a parameter: the daemon takes it from the connection (SO_PEERCRED, pidfd). An app sees only the
/// items of its own access groups (KC-02, KC-42). A change that succeeded is durable: it survives a power cut after the
/// reply.
///
/// A request is at most 1 MiB. One of Add or Update may be 24 MiB, if the method is the first field of the message. A
/// reply is at most 64 MiB. A service works on two messages of more than 1 MiB at a time, one from each process; others
/// wait for their turn.
///
/// One call is enough, also if an item wants the owner's proof. Such a call carries options, which say how the owner is
/// asked, and it may carry a context. The daemon then has the owner asked, for the access control of the item itself.
/// It goes on, and answers when it is done. That may be never; closing the connection takes the prompt down. Without a
/// context the proof counts for this one call (AC-25). Without options nobody is asked: an item that wants a proof
/// which the context does not have is refused with -25308 and the reason interactionForbidden (AC-41).
package enum KeychainInterface {
    package static let name = "io.touchstone.Keychain"

    /// One item of a result: only what the return keys of the query asked for.
    package struct Item: MessageCodable, Hashable {
        package var attributes: [AttributeKey: AttributeValue]?
        /// The secret, base64.
        package var data: Data?
        /// Opaque bytes, base64.
        package var persistentReference: Data?
        /// Of an identity, if a reference is asked for: the DER of its certificate, base64. data is that of its key.
        package var certificate: Data?
        /// Of a key of the enclave, if a reference is asked for: its public key, base64, as io.touchstone.Key gives it.
        /// data is then what that interface calls the key.
        package var publicKey: Data?

        package init(
            attributes: [AttributeKey: AttributeValue]? = nil, data: Data? = nil, persistentReference: Data? = nil,
            certificate: Data? = nil, publicKey: Data? = nil
        ) {
            self.attributes = attributes
            self.data = data
            self.persistentReference = persistentReference
            self.certificate = certificate
            self.publicKey = publicKey
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.attributes = try json.valueIfPresent("attributes")
            self.data = try json.valueIfPresent("data")
            self.persistentReference = try json.valueIfPresent("persistentReference")
            self.certificate = try json.valueIfPresent("certificate")
            self.publicKey = try json.valueIfPresent("publicKey")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(attributes, for: "attributes")
            try json.write(data, for: "data")
            try json.write(persistentReference, for: "persistentReference")
            try json.write(certificate, for: "certificate")
            try json.write(publicKey, for: "publicKey")
            json.endObject()
        }
    }

    /// Adds one item. "v_Data" is its secret; "class" is needed.
    ///
    /// The access group is the app's own unless "agrp" names another that it has.
    ///
    /// An identity is added as its key, with the dictionary of its certificate beside it, both in one transaction. A
    /// certificate that is there already stays as it is; the persistent reference is the identity's.
    ///
    /// A biometric constraint is bound to what is enrolled now (AC-10, AC-50); adding shows no prompt (AC-12). context
    /// is one of the app's from io.touchstone.Authentication.CreateContext, or absent.
    ///
    /// A key with "tkid" "com.apple.setoken" has as its data what io.touchstone.Key.Create gave; what it is, and its
    /// access group, are taken from there. Its row is guarded by nothing but "dku", and what its access control wants
    /// is asked where the key is used (SE-04).
    ///
    /// Replies with what the return keys ask for: an empty item where there are none. A request may be 24 MiB.
    ///
    /// Errors: Failed: -25299 the same primary key is there (KC-30, KC-31), -50 a value is malformed or two contradict
    /// (KC-34), -25303 an attribute that the class does not have, -34018 a foreign access group (KC-42), -25308 the
    /// protection class cannot be opened now (KC-20), -25293 no passcode for "akpu" (KC-24) or nothing enrolled for a
    /// biometric constraint that is the only way, or wanted as well (AC-15). The owner is asked where the access
    /// control wants an application password and the context has none (AC-48). -26275 not a key of this device's
    /// enclave (SE-02). -25302 a secret of more than 16 MiB, of a certificate or key 700 KiB. After any error nothing
    /// was stored.
    package enum Add: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Add"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: MessageCodable {
            package var attributes: [AttributeKey: AttributeValue]
            package var certificate: [AttributeKey: AttributeValue]?
            package var context: String?
            package var options: AuthenticationInterface.Options?

            package init(
                attributes: [AttributeKey: AttributeValue], certificate: [AttributeKey: AttributeValue]? = nil,
                context: String? = nil, options: AuthenticationInterface.Options? = nil
            ) {
                self.attributes = attributes
                self.certificate = certificate
                self.context = context
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.attributes = try json.value("attributes")
                self.certificate = try json.valueIfPresent("certificate")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(attributes, for: "attributes")
                try json.write(certificate, for: "certificate")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var item: KeychainInterface.Item

            package init(item: KeychainInterface.Item) {
                self.item = item
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.item = try json.value("item")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(item, for: "item")
                json.endObject()
            }
        }
    }

    /// Finds items, the oldest first.
    ///
    /// The match limit is one unless "m_Limit" says otherwise (KC-33). context as in Add.
    ///
    /// Values that are arrays or nothing on Apple's platforms are told by true: "m_ValidOnDate" then means now, and
    /// what "m_Issuers" lists is in issuers (base64), each the contents (without the header of the sequence) of a
    /// normalized name.
    ///
    /// Called with more, it gives what it finds a few items at a time, as they are taken: then there is no largest
    /// result. What needs the owner is decided before the first are sent.
    ///
    /// Where a reference is asked for of a certificate, a key or an identity, the items have their data: it is made of
    /// that.
    ///
    /// An item whose access control wants the owner is opened only where the enclave finds that the context has proven
    /// enough (EV-32, AC-20); "u_AuthUI" decides what happens otherwise (AC-41): allow has the owner asked for every
    /// access control in the way (AC-23), also where the context is not known, fail answers -25308, skip leaves the
    /// item out. What was changed while the owner was asked is found as it is then.
    ///
    /// Errors: Failed: -25300 nothing matches, or what matches is gone for good (KC-16, AC-51), -25308 the protection
    /// class of a matching item cannot be opened now: for the whole query, not for that item (KC-20, AC-43), -50,
    /// -34018, -4 a match key that this class, or this system, does not have, -25306 a persistent reference of another
    /// class, -108 more than 32 MiB of data, without more, or too many calls wait for such. Rows that can never be
    /// opened again are removed (KC-16); nothing else changes.
    package enum CopyMatching: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.CopyMatching"
        package struct Parameters: MessageCodable {
            package var query: [AttributeKey: AttributeValue]
            package var issuers: [Data]?
            package var context: String?
            package var options: AuthenticationInterface.Options?

            package init(
                query: [AttributeKey: AttributeValue], issuers: [Data]? = nil, context: String? = nil,
                options: AuthenticationInterface.Options? = nil
            ) {
                self.query = query
                self.issuers = issuers
                self.context = context
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.query = try json.value("query")
                self.issuers = try json.valueIfPresent("issuers")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(query, for: "query")
                try json.write(issuers, for: "issuers")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var items: [KeychainInterface.Item]

            package init(items: [KeychainInterface.Item]) {
                self.items = items
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.items = try json.value("items")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(items, for: "items")
                json.endObject()
            }
        }
    }

    /// Changes every item that the query matches: all of them or, after an error, none.
    ///
    /// The constraint of a protected item has to be met (AC-20). context as in Add. A request may be 24 MiB.
    ///
    /// Errors: Failed: -25300 nothing matches (KC-35), -25299 another item has the new primary key, -50 a return key or
    /// a malformed value, -25302, -25303, -25308, -25293, -34018, -108 too many large requests wait for the owner.
    /// After any error nothing was changed.
    package enum Update: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Update"
        package static var takesLargeRequests: Bool { true }
        package struct Parameters: MessageCodable {
            package var query: [AttributeKey: AttributeValue]
            package var attributes: [AttributeKey: AttributeValue]
            package var context: String?
            package var options: AuthenticationInterface.Options?

            package init(
                query: [AttributeKey: AttributeValue], attributes: [AttributeKey: AttributeValue],
                context: String? = nil, options: AuthenticationInterface.Options? = nil
            ) {
                self.query = query
                self.attributes = attributes
                self.context = context
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.query = try json.value("query")
                self.attributes = try json.value("attributes")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(query, for: "query")
                try json.write(attributes, for: "attributes")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Deletes every item that the query matches.
    ///
    /// It opens none of them: it needs no proof (AC-24) and works while the device is locked (KC-36). context is
    /// accepted and not used. Of an identity, the certificate is deleted, and the key unless another certificate
    /// belongs to it.
    ///
    /// Errors: Failed: -25300 nothing matches, -50 match keys, a limit other than "m_LimitAll", or authentication UI
    /// "skip" (KC-35, KC-36), -34018. After any error nothing was deleted. What is deleted cannot be opened again. The
    /// bytes on the disk may stay until they are overwritten.
    package enum Delete: VarlinkMethod {
        package static let name = "io.touchstone.Keychain.Delete"
        package struct Parameters: MessageCodable {
            package var query: [AttributeKey: AttributeValue]
            package var context: String?

            package init(query: [AttributeKey: AttributeValue], context: String? = nil) {
                self.query = query
                self.context = context
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.query = try json.value("query")
                self.context = try json.valueIfPresent("context")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(query, for: "query")
                try json.write(context, for: "context")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The call failed: status is an OSStatus.
    ///
    /// Apart from those at each method: -25291 the device does not work now (its enclave is gone), -34 its disk is
    /// full, or with the reason quotaReached the item's access group keeps as much as it may (SetQuota of
    /// io.touchstone.Backup), -36 its disk failed, -25292 its disk is read-only, -26275 with the reason keychainAltered
    /// another program has altered the keychain's file, and the item with an access control is not given out until the
    /// owner has accepted it, -26276 our own fault.
    ///
    /// reason says why, where the status stands for several causes: one of these words, or a newer one. It is for a
    /// developer to read: match on the status. What is not set up: passcodeNotSet, noSensor, sensorUnavailable,
    /// sensorTooWeak, notEnrolled, noFaceEnrolled, noCompanion. What biometry waits for, or may not do:
    /// biometryLockedOut (five misses), biometrySuspended (a miss could not be kept), passcodeRequired (PC-20),
    /// passcodeDisabled (PC-01), faceIDNotDescribed (CE-11), faceIDDenied, faceIDNotAnswerable. What is not granted, or
    /// gone for good: operationNotGranted (AC-20), enrolmentChanged, passcodeRemoved (AC-52), keyLost. The keychain's
    /// file: keychainAltered. Application passwords: noApplicationPassword, wrongApplicationPassword,
    /// tooManyApplicationPasswords, applicationPasswordDelayed. Nobody may be asked, or can be: interactionForbidden,
    /// noAgent, appInBackground, deviceLocked, beforeFirstUnlock, waitedTooLong (for other apps' prompts), tooManyWait,
    /// cancelledTooOften (the owner cancelled three prompts of the app within two minutes: it waits five). How a prompt
    /// ended: missedTooOften, fallbackChosen, ownerCancelled, cancelledByAnother, appLeftForeground, agentLost,
    /// lockedMeanwhile, passcodeChanged, deviceErased, deviceStopped, cancelledByApp. The context: contextInvalidated,
    /// tooManyContexts. The app: foreignAccessGroup (KC-42), quotaReached. The device: deviceNotWorking.
    ///
    /// accessControl is what stands in the way, where one does.
    ///
    /// Where the owner's proof was wanted and not given, code is LAError.Code and message is for a developer to read,
    /// both as Failed of io.touchstone.Authentication has them. status is then -128 where the owner cancelled, -25308
    /// where nobody may be asked, and -25293 for everything else (AC-44). After code -10 the context is not known, and
    /// the call may be made again with another. Options with isStrict may be answered with MissingUsageDescription of
    /// io.touchstone.Authentication.
    ///
    /// key is the dictionary's key for which the call was refused, where one alone is in the way and has at most 64
    /// bytes. It is for a developer to read.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Keychain.Failed"
        package var status: Int32
        package var reason: String?
        package var accessControl: AccessControl?
        package var code: AuthenticationFailure?
        package var message: String?
        package var key: String?

        package init(
            status: Int32, reason: String? = nil, accessControl: AccessControl? = nil,
            code: AuthenticationFailure? = nil, message: String? = nil, key: String? = nil
        ) {
            self.status = status
            self.reason = reason
            self.accessControl = accessControl
            self.code = code
            self.message = message
            self.key = key
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.status = try json.value("status")
            self.reason = try json.valueIfPresent("reason")
            self.accessControl = try json.valueIfPresent("accessControl")
            self.code = try json.valueIfPresent("code")
            self.message = try json.valueIfPresent("message")
            self.key = try json.valueIfPresent("key")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(status, for: "status")
            try json.write(reason, for: "reason")
            try json.write(accessControl, for: "accessControl")
            try json.write(code, for: "code")
            try json.write(message, for: "message")
            try json.write(key, for: "key")
            json.endObject()
        }
    }
}
