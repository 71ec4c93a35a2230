// Written by script/interfaces from io.touchstone.Key.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// Private keys of the enclave: made there, used there, and never outside of it.
///
/// A key is a blob of bytes that only the enclave of this device opens, and only for an app of the key's access group
/// (SE-03). The app that made it keeps it: in the keychain, where it is an item like any other, or elsewhere. The
/// enclave keeps nothing of it. The access control is inside the blob and cannot be changed.
///
/// Bytes are base64 (RFC 4648, with padding) wherever a comment says so. context is one that the app got from
/// io.touchstone.Authentication.CreateContext, or absent. The caller is not a parameter: the daemon takes it from the
/// connection.
///
/// One call is enough, also where a key wants the owner's proof: options say how the owner is asked, as in
/// io.touchstone.Keychain, and keyLabel what the app calls the key, for the owner to read. Without options nobody is
/// asked: a key that wants a proof which the context does not have is refused with -25308 and the reason
/// interactionForbidden.
package enum KeyInterface {
    package static let name = "io.touchstone.Key"

    /// What a key is for: p256 signs (ECDSA) and exchanges keys (ECDH) on NIST P-256; mlkem768 and mlkem1024 take out
    /// the secrets that others encapsulated (ML-KEM of FIPS 203); mldsa65 and mldsa87 sign messages (ML-DSA of FIPS
    /// 204).
    package enum Kind: String, CaseIterable, MessageCodable {
        case p256, mlkem768, mlkem1024, mldsa65, mldsa87
    }

    /// Makes a key (bytes, base64: its blob) and replies with it and its publicKey (bytes, base64: of p256 its point,
    /// uncompressed, 65 bytes; of the others as their standards encode it).
    ///
    /// The access group is the app's own unless accessGroup names another that it has.
    ///
    /// Nobody is asked (SE-15); biometryCurrentSet is bound to what is enrolled now (AC-50). The key can be used for
    /// what the control allows: with constraints it needs privateKeyUsage among the flags (SE-13).
    ///
    /// Errors: Failed: -34018 an access group that is not one of the app's, -25308 the protection class cannot be
    /// opened now (KC-20), -25293 no passcode for "akpu" (KC-24) or for a constraint, or nothing enrolled for a
    /// biometric one (AC-15). The owner is asked if the access control asks for an application password and the context
    /// does not have one (AC-48).
    package enum Create: VarlinkMethod {
        package static let name = "io.touchstone.Key.Create"
        package struct Parameters: MessageCodable {
            package var kind: KeyInterface.Kind
            package var accessControl: AccessControl
            package var accessGroup: AccessGroup?
            package var context: String?
            package var options: AuthenticationInterface.Options?

            package init(
                kind: KeyInterface.Kind, accessControl: AccessControl, accessGroup: AccessGroup? = nil,
                context: String? = nil, options: AuthenticationInterface.Options? = nil
            ) {
                self.kind = kind
                self.accessControl = accessControl
                self.accessGroup = accessGroup
                self.context = context
                self.options = options
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.kind = try json.value("kind")
                self.accessControl = try json.value("accessControl")
                self.accessGroup = try json.valueIfPresent("accessGroup")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(kind, for: "kind")
                try json.write(accessControl, for: "accessControl")
                try json.write(accessGroup, for: "accessGroup")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var key: Data
            package var publicKey: Data

            package init(key: Data, publicKey: Data) {
                self.key = key
                self.publicKey = publicKey
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.publicKey = try json.value("publicKey")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(publicKey, for: "publicKey")
                json.endObject()
            }
        }
    }

    /// Describes a key (bytes, base64). publicKey (bytes, base64) is as Create gave it.
    ///
    /// Nobody is asked, and a locked device answers too.
    ///
    /// Errors: Failed: -26275 this device's enclave did not make it, or it was changed; -25300 it does not belong to
    /// one of the app's access groups.
    package enum Inspect: VarlinkMethod {
        package static let name = "io.touchstone.Key.Inspect"
        package struct Parameters: MessageCodable {
            package var key: Data

            package init(key: Data) {
                self.key = key
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var kind: KeyInterface.Kind
            package var publicKey: Data
            package var accessControl: AccessControl
            package var accessGroup: AccessGroup

            package init(
                kind: KeyInterface.Kind, publicKey: Data, accessControl: AccessControl, accessGroup: AccessGroup
            ) {
                self.kind = kind
                self.publicKey = publicKey
                self.accessControl = accessControl
                self.accessGroup = accessGroup
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.kind = try json.value("kind")
                self.publicKey = try json.value("publicKey")
                self.accessControl = try json.value("accessControl")
                self.accessGroup = try json.value("accessGroup")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(kind, for: "kind")
                try json.write(publicKey, for: "publicKey")
                try json.write(accessControl, for: "accessControl")
                try json.write(accessGroup, for: "accessGroup")
                json.endObject()
            }
        }
    }

    /// Signs data (bytes, base64) with a p256 key (bytes, base64): a digest of 32 bytes, whatever the hash was.
    ///
    /// Replies with the signature (bytes, base64: r and s, 32 bytes each).
    ///
    /// Errors: Failed: those of Inspect; -25308 the protection class cannot be opened now, -25293 the access control
    /// has constraints and no privateKeyUsage (SE-13), -50 data that this kind does not sign. Invalidated. The owner is
    /// asked also where the context is not known, or another app's.
    package enum Sign: VarlinkMethod {
        package static let name = "io.touchstone.Key.Sign"
        package struct Parameters: MessageCodable {
            package var key: Data
            package var data: Data
            package var context: String?
            package var options: AuthenticationInterface.Options?
            package var keyLabel: String?

            package init(
                key: Data, data: Data, context: String? = nil, options: AuthenticationInterface.Options? = nil,
                keyLabel: String? = nil
            ) {
                self.key = key
                self.data = data
                self.context = context
                self.options = options
                self.keyLabel = keyLabel
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.data = try json.value("data")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
                self.keyLabel = try json.valueIfPresent("keyLabel")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(data, for: "data")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                try json.write(keyLabel, for: "keyLabel")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var signature: Data

            package init(signature: Data) {
                self.signature = signature
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.signature = try json.value("signature")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(signature, for: "signature")
                json.endObject()
            }
        }
    }

    /// Agrees on a secret, with a key (bytes, base64) and the public half of another key: publicKey (bytes, base64, as
    /// Create gives it).
    ///
    /// Replies with the sharedSecret (bytes, base64: of p256 the coordinate x, 32 bytes). operation is
    /// LAAccessControlOperation: 4 to decrypt, 5 to exchange keys.
    ///
    /// Errors: those of Sign; Failed -50 also for a public key of another kind, for one that is not a key, and for
    /// another operation.
    package enum ExchangeKeys: VarlinkMethod {
        package static let name = "io.touchstone.Key.ExchangeKeys"
        package struct Parameters: MessageCodable {
            package var key: Data
            package var publicKey: Data
            package var operation: AccessControlOperation
            package var context: String?
            package var options: AuthenticationInterface.Options?
            package var keyLabel: String?

            package init(
                key: Data, publicKey: Data, operation: AccessControlOperation, context: String? = nil,
                options: AuthenticationInterface.Options? = nil, keyLabel: String? = nil
            ) {
                self.key = key
                self.publicKey = publicKey
                self.operation = operation
                self.context = context
                self.options = options
                self.keyLabel = keyLabel
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.publicKey = try json.value("publicKey")
                self.operation = try json.value("operation")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
                self.keyLabel = try json.valueIfPresent("keyLabel")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(publicKey, for: "publicKey")
                try json.write(operation, for: "operation")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                try json.write(keyLabel, for: "keyLabel")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var sharedSecret: Data

            package init(sharedSecret: Data) {
                self.sharedSecret = sharedSecret
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.sharedSecret = try json.value("sharedSecret")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(sharedSecret, for: "sharedSecret")
                json.endObject()
            }
        }
    }

    /// Signs a message (bytes, base64, at most 512 KiB) with a key (bytes, base64) of mldsa65 or mldsa87.
    /// signatureContext (bytes, base64, at most 255) is the context string of FIPS 204; empty for none.
    ///
    /// Replies with the signature (bytes, base64: 3309 or 4627).
    ///
    /// Errors: those of Sign; Failed -50 also for a key of another kind, and where either is longer.
    package enum SignMessage: VarlinkMethod {
        package static let name = "io.touchstone.Key.SignMessage"
        package struct Parameters: MessageCodable {
            package var key: Data
            package var message: Data
            package var signatureContext: Data
            package var context: String?
            package var options: AuthenticationInterface.Options?
            package var keyLabel: String?

            package init(
                key: Data, message: Data, signatureContext: Data, context: String? = nil,
                options: AuthenticationInterface.Options? = nil, keyLabel: String? = nil
            ) {
                self.key = key
                self.message = message
                self.signatureContext = signatureContext
                self.context = context
                self.options = options
                self.keyLabel = keyLabel
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.message = try json.value("message")
                self.signatureContext = try json.value("signatureContext")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
                self.keyLabel = try json.valueIfPresent("keyLabel")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(message, for: "message")
                try json.write(signatureContext, for: "signatureContext")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                try json.write(keyLabel, for: "keyLabel")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var signature: Data

            package init(signature: Data) {
                self.signature = signature
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.signature = try json.value("signature")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(signature, for: "signature")
                json.endObject()
            }
        }
    }

    /// Takes out the sharedSecret (bytes, base64: 32) that somebody encapsulated (bytes, base64: 1088 to mlkem768, 1568
    /// to mlkem1024) to a key (bytes, base64).
    ///
    /// Other bytes of that length give a secret that nobody else has (FIPS 203).
    ///
    /// Errors: those of Sign; Failed -50 also for a key of another kind, and for another length. The owner is asked for
    /// the operation 5.
    package enum Decapsulate: VarlinkMethod {
        package static let name = "io.touchstone.Key.Decapsulate"
        package struct Parameters: MessageCodable {
            package var key: Data
            package var encapsulated: Data
            package var context: String?
            package var options: AuthenticationInterface.Options?
            package var keyLabel: String?

            package init(
                key: Data, encapsulated: Data, context: String? = nil,
                options: AuthenticationInterface.Options? = nil, keyLabel: String? = nil
            ) {
                self.key = key
                self.encapsulated = encapsulated
                self.context = context
                self.options = options
                self.keyLabel = keyLabel
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.key = try json.value("key")
                self.encapsulated = try json.value("encapsulated")
                self.context = try json.valueIfPresent("context")
                self.options = try json.valueIfPresent("options")
                self.keyLabel = try json.valueIfPresent("keyLabel")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(key, for: "key")
                try json.write(encapsulated, for: "encapsulated")
                try json.write(context, for: "context")
                try json.write(options, for: "options")
                try json.write(keyLabel, for: "keyLabel")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var sharedSecret: Data

            package init(sharedSecret: Data) {
                self.sharedSecret = sharedSecret
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.sharedSecret = try json.value("sharedSecret")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(sharedSecret, for: "sharedSecret")
                json.endObject()
            }
        }
    }

    /// The call failed. status is an OSStatus. reason and accessControl say why, as in io.touchstone.Keychain's Failed.
    ///
    /// Where the owner's proof was wanted and not given, code is LAError.Code, and message is for a developer, as
    /// there.
    package struct Failed: VarlinkError {
        package static let name = "io.touchstone.Key.Failed"
        package var status: Int32
        package var reason: String?
        package var accessControl: AccessControl?
        package var code: AuthenticationFailure?
        package var message: String?

        package init(
            status: Int32, reason: String? = nil, accessControl: AccessControl? = nil,
            code: AuthenticationFailure? = nil, message: String? = nil
        ) {
            self.status = status
            self.reason = reason
            self.accessControl = accessControl
            self.code = code
            self.message = message
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.status = try json.value("status")
            self.reason = try json.valueIfPresent("reason")
            self.accessControl = try json.valueIfPresent("accessControl")
            self.code = try json.valueIfPresent("code")
            self.message = try json.valueIfPresent("message")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(status, for: "status")
            try json.write(reason, for: "reason")
            try json.write(accessControl, for: "accessControl")
            try json.write(code, for: "code")
            try json.write(message, for: "message")
            json.endObject()
        }
    }

    /// The key can never be used again: the enrolled fingers or the passcode that it was bound to have changed (AC-52).
    /// reason: which of them, as in io.touchstone.Keychain's Failed.
    package struct Invalidated: VarlinkError {
        package static let name = "io.touchstone.Key.Invalidated"
        package var reason: String?

        package init(reason: String? = nil) {
            self.reason = reason
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.reason = try json.valueIfPresent("reason")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(reason, for: "reason")
            json.endObject()
        }
    }
}
