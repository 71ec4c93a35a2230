// Written by script/interfaces from io.touchstone.Device.varlink. Do not edit.
// swift-format-ignore-file

package import Foundation
package import TouchstoneCore

/// The owner's settings, the lock screen and, on a device created as simulated, the controls that replace fingers and
/// faces.
///
/// Only the device's owner (the same user) gets an answer. Bytes are base64 (RFC 4648, with padding) wherever a comment
/// says so.
package enum DeviceInterface {
    package static let name = "io.touchstone.Device"

    /// What a sensor is.
    package enum SensorKind: String, CaseIterable, MessageCodable {
        /// PresentFinger says what it sees.
        ///
        /// The enclave itself speaks to the others, and touchstoned only hears how evaluations end: fprintd is a
        /// fingerprint reader that fprintd serves, pam is whatever a PAM service has recognised.
        case simulated
        case fprintd, pam
    }

    /// Why a sensor does not work now.
    package enum SensorProblem: String, CaseIterable, MessageCodable {
        /// The sensor has not answered yet.
        case starting
        /// The bus of its service does not answer.
        case noBus
        /// The service is not on the bus, and nothing there starts it.
        case noService
        /// It is not plugged in.
        case noReader
        /// Another reader is plugged in, and the fingers were enrolled on a different one; ForgetReader moves to the
        /// new one.
        case otherReader
        /// The owner is not in /etc/passwd, the only place where the enclave looks for names (DEC-061).
        case unknownOwner
        /// The service does not let this user have the reader.
        case notAllowed
        /// It answers too late, or the answer cannot be understood.
        case notAnswering
        /// The enrolled templates could be read before, but not now.
        case templatesUnreadable
    }

    package struct Sensor: MessageCodable, Hashable {
        package var kind: DeviceInterface.SensorKind
        /// What it calls itself: its own claim.
        package var name: String?
        /// Absent: it works.
        package var problem: DeviceInterface.SensorProblem?
        /// Nobody knows how well it recognises the owner.
        ///
        /// It never counts for the current set of fingers or faces. It counts for biometry only if the owner allowed
        /// that when the device was created.
        package var isWeak: Bool
        /// Whether the templates themselves identify the enrolled set.
        ///
        /// Otherwise the fingers' names do, and the device does not notice a finger that is enrolled again under the
        /// same name while it is off.
        package var areTemplatesRead: Bool

        package init(
            kind: DeviceInterface.SensorKind, name: String? = nil, problem: DeviceInterface.SensorProblem? = nil,
            isWeak: Bool, areTemplatesRead: Bool
        ) {
            self.kind = kind
            self.name = name
            self.problem = problem
            self.isWeak = isWeak
            self.areTemplatesRead = areTemplatesRead
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.kind = try json.value("kind")
            self.name = try json.valueIfPresent("name")
            self.problem = try json.valueIfPresent("problem")
            self.isWeak = try json.value("isWeak")
            self.areTemplatesRead = try json.value("areTemplatesRead")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(kind, for: "kind")
            try json.write(name, for: "name")
            try json.write(problem, for: "problem")
            try json.write(isWeak, for: "isWeak")
            try json.write(areTemplatesRead, for: "areTemplatesRead")
            json.endObject()
        }
    }

    /// What the device is, and its state now.
    package struct Status: MessageCodable, Hashable {
        package var name: String
        /// Whether the driving methods answer.
        ///
        /// Decided when the device was created, and by nothing later.
        package var isSimulated: Bool
        /// What binds the device to this machine: "software", "tpm2", or "swtpm" for a TPM that is a program.
        package var rootOfTrust: String
        /// LABiometryType: 0 none, 1 Touch ID, 2 Face ID, 4 Optic ID.
        package var biometryType: BiometryType
        package var isEnrolled: Bool
        package var isPasscodeSet: Bool
        /// Absent if there is no passcode.
        package var passcodeKind: PasscodeKind?
        /// Whether the tenth wrong passcode in a row erases the device (PC-02).
        package var erasesData: Bool
        /// Wrong passcodes erased the device, and no passcode was set since.
        package var wasErased: Bool
        package var isLocked: Bool
        package var wasUnlockedSinceBoot: Bool
        /// Whether only the passcode can be used now (EV-26, PC-20).
        package var isBiometryLockedOut: Bool
        package var passcodeFailures: Int
        /// Seconds until the next passcode is checked; absent: now.
        package var passcodeRetryAfterSeconds: Double?
        /// No passcode is checked any more (the last row of PC-01's table).
        package var isPasscodeDisabled: Bool
        package var hasAgent: Bool
        package var hasPrompt: Bool
        /// Absent: it does not have one.
        package var sensor: DeviceInterface.Sensor?
        /// Whether P-256 keys are made and used in the TPM; absent: they are in the enclave's memory while they are
        /// used.
        package var areKeysInTPM: Bool?
        /// Seconds by which AdvanceClock has moved the device's clock ahead of the machine's since the boot; absent: it
        /// was not moved.
        package var clockAheadSeconds: Double?

        package init(
            name: String, isSimulated: Bool, rootOfTrust: String, biometryType: BiometryType, isEnrolled: Bool,
            isPasscodeSet: Bool, passcodeKind: PasscodeKind? = nil, erasesData: Bool, wasErased: Bool,
            isLocked: Bool, wasUnlockedSinceBoot: Bool, isBiometryLockedOut: Bool, passcodeFailures: Int,
            passcodeRetryAfterSeconds: Double? = nil, isPasscodeDisabled: Bool, hasAgent: Bool, hasPrompt: Bool,
            sensor: DeviceInterface.Sensor? = nil, areKeysInTPM: Bool? = nil, clockAheadSeconds: Double? = nil
        ) {
            self.name = name
            self.isSimulated = isSimulated
            self.rootOfTrust = rootOfTrust
            self.biometryType = biometryType
            self.isEnrolled = isEnrolled
            self.isPasscodeSet = isPasscodeSet
            self.passcodeKind = passcodeKind
            self.erasesData = erasesData
            self.wasErased = wasErased
            self.isLocked = isLocked
            self.wasUnlockedSinceBoot = wasUnlockedSinceBoot
            self.isBiometryLockedOut = isBiometryLockedOut
            self.passcodeFailures = passcodeFailures
            self.passcodeRetryAfterSeconds = passcodeRetryAfterSeconds
            self.isPasscodeDisabled = isPasscodeDisabled
            self.hasAgent = hasAgent
            self.hasPrompt = hasPrompt
            self.sensor = sensor
            self.areKeysInTPM = areKeysInTPM
            self.clockAheadSeconds = clockAheadSeconds
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.name = try json.value("name")
            self.isSimulated = try json.value("isSimulated")
            self.rootOfTrust = try json.value("rootOfTrust")
            self.biometryType = try json.value("biometryType")
            self.isEnrolled = try json.value("isEnrolled")
            self.isPasscodeSet = try json.value("isPasscodeSet")
            self.passcodeKind = try json.valueIfPresent("passcodeKind")
            self.erasesData = try json.value("erasesData")
            self.wasErased = try json.value("wasErased")
            self.isLocked = try json.value("isLocked")
            self.wasUnlockedSinceBoot = try json.value("wasUnlockedSinceBoot")
            self.isBiometryLockedOut = try json.value("isBiometryLockedOut")
            self.passcodeFailures = try json.value("passcodeFailures")
            self.passcodeRetryAfterSeconds = try json.valueIfPresent("passcodeRetryAfterSeconds")
            self.isPasscodeDisabled = try json.value("isPasscodeDisabled")
            self.hasAgent = try json.value("hasAgent")
            self.hasPrompt = try json.value("hasPrompt")
            self.sensor = try json.valueIfPresent("sensor")
            self.areKeysInTPM = try json.valueIfPresent("areKeysInTPM")
            self.clockAheadSeconds = try json.valueIfPresent("clockAheadSeconds")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(name, for: "name")
            try json.write(isSimulated, for: "isSimulated")
            try json.write(rootOfTrust, for: "rootOfTrust")
            try json.write(biometryType, for: "biometryType")
            try json.write(isEnrolled, for: "isEnrolled")
            try json.write(isPasscodeSet, for: "isPasscodeSet")
            try json.write(passcodeKind, for: "passcodeKind")
            try json.write(erasesData, for: "erasesData")
            try json.write(wasErased, for: "wasErased")
            try json.write(isLocked, for: "isLocked")
            try json.write(wasUnlockedSinceBoot, for: "wasUnlockedSinceBoot")
            try json.write(isBiometryLockedOut, for: "isBiometryLockedOut")
            try json.write(passcodeFailures, for: "passcodeFailures")
            try json.write(passcodeRetryAfterSeconds, for: "passcodeRetryAfterSeconds")
            try json.write(isPasscodeDisabled, for: "isPasscodeDisabled")
            try json.write(hasAgent, for: "hasAgent")
            try json.write(hasPrompt, for: "hasPrompt")
            try json.write(sensor, for: "sensor")
            try json.write(areKeysInTPM, for: "areKeysInTPM")
            try json.write(clockAheadSeconds, for: "clockAheadSeconds")
            json.endObject()
        }
    }

    /// What a touch did.
    package enum Touch: String, CaseIterable, MessageCodable {
        /// An evaluation was waiting, and judged it.
        case matched, notMatched
        /// The finger opened the lock screen.
        case unlocked
        /// The lock screen needs the passcode (PC-20).
        case passcodeRequired
        /// Nothing waited for a finger.
        case notWaiting
    }

    /// Whether an app may put up a prompt (EV-05, EV-52).
    package enum ApplicationState: String, CaseIterable, MessageCodable {
        case foreground, background
    }

    /// Why the device refuses.
    package enum RefusalReason: String, CaseIterable, MessageCodable {
        /// The passcode's state.
        case passcodeNotSet, passcodeAlreadySet, passcodeDisabled
        /// The new passcode.
        case passcodeTooShort, passcodeTooLong, passcodeNotOfKind
        /// Another passcode is being checked.
        case busy
        /// The device has another sensor, or no sensor.
        case noFaceID
        /// Enrolment.
        case noSensor, tooManyFingers, fingerAlreadyEnrolled, noSuchFinger, invalidName
        /// The device already has a sensor of its own.
        case hasSensor
        /// The nonce was used before, or is not one of those given out last.
        case staleNonce
        /// It was not sealed to this enclave with that nonce.
        case unreadablePasscode
        /// It was sealed to a key of an earlier boot; read the published key again.
        case staleKey
        case locked
        /// The caller is another user, or runs in a sandbox.
        case notOwner
        /// This is a system device, and root has not put the caller on the list of programs that may use the owner's
        /// interface.
        case notListed
        /// Programs locked the device three times within two minutes, and cannot for five.
        case lockedTooOften
        /// The device's disk is full or does not work; any call that changes the device may answer it, and nothing
        /// changed.
        case notKept
        /// The device's TPM cannot check a passcode, or cannot seal a new one.
        case tpmUnavailable
        /// The TPM takes no passcode now, because this device or another program gave it wrong ones.
        case tpmLockedOut
    }

    /// The state of the device.
    ///
    /// Its owner always gets an answer.
    package enum GetStatus: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetStatus"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var status: DeviceInterface.Status

            package init(status: DeviceInterface.Status) {
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

    /// The status as it is now, and again after each change of isLocked, wasUnlockedSinceBoot, hasAgent or
    /// isPasscodeSet (ND-8).
    ///
    /// Call it with "more"; the stream ends with the connection. Several quick changes may come as one reply. A client
    /// that does not read what it is sent is disconnected.
    ///
    /// Errors: Refused: notOwner, notListed, busy (64 watch already).
    package enum WatchStatus: VarlinkMethod {
        package static let name = "io.touchstone.Device.WatchStatus"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var status: DeviceInterface.Status

            package init(status: DeviceInterface.Status) {
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

    /// A nonce (bytes, base64) for one ChangePasscode, Unlock, SetEraseData, ForgetReader, AcceptItems or
    /// AuthorizeBackup, from the enclave.
    ///
    /// It is good only on this connection. Only the 8 newest nonces of a connection are good, and they end with it.
    package enum GetNonce: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetNonce"
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

    /// Sets, changes or removes the passcode.
    ///
    /// Both are sealed in one message, so that a carrier can exchange neither: first the current one, then the new one.
    /// An empty entry means no passcode. kind is that of the new one; absent: alphanumeric.
    ///
    /// Removing it destroys the class of items that live only while a passcode is set (KC-23), for good. A change keeps
    /// every item. Contexts lose what they had proven (EV-33).
    ///
    /// Errors: PasscodeRejected: the current passcode is wrong, and was counted (PC-01). Refused: passcodeNotSet,
    /// passcodeAlreadySet, passcodeDisabled, passcodeTooShort (less than 4 bytes), passcodeTooLong, passcodeNotOfKind,
    /// busy (another one is being checked, or the delay is not over), staleNonce, unreadablePasscode. After an error
    /// the old passcode stays.
    package enum ChangePasscode: VarlinkMethod {
        package static let name = "io.touchstone.Device.ChangePasscode"
        package struct Parameters: MessageCodable {
            package var passcodes: SealedPasscode
            package var kind: PasscodeKind?

            package init(passcodes: SealedPasscode, kind: PasscodeKind? = nil) {
                self.passcodes = passcodes
                self.kind = kind
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.passcodes = try json.value("passcodes")
                self.kind = try json.valueIfPresent("kind")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(passcodes, for: "passcodes")
                try json.write(kind, for: "kind")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Turns erasing after ten wrong passcodes in a row on or off (PC-02); this needs the passcode (PC-22), sealed for
    /// the value.
    ///
    /// Removing the passcode turns it off.
    ///
    /// Errors: as of Unlock. After an error nothing has changed.
    package enum SetEraseData: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetEraseData"
        package struct Parameters: MessageCodable {
            package var isOn: Bool
            package var passcode: SealedPasscode

            package init(isOn: Bool, passcode: SealedPasscode) {
                self.isOn = isOn
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isOn = try json.value("isOn")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isOn, for: "isOn")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Forgets the device's fingerprint reader and who is enrolled with it, by the passcode alone (PC-22), sealed for
    /// this: the device then takes the next reader that it finds (DEC-062).
    ///
    /// Items bound to the current set are lost, as after any change of the set (AC-50).
    ///
    /// Errors: as of Unlock. Refused: noSensor: its fingers are simulated. After an error nothing has changed.
    package enum ForgetReader: VarlinkMethod {
        package static let name = "io.touchstone.Device.ForgetReader"
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

        package typealias Reply = Empty
    }

    /// Gives a device without a sensor of its own the readers of fprintd, by the passcode alone (PC-22), sealed for
    /// these paths. bus is the socket of fprintd's D-Bus, templates the directory in which fprintd keeps the enrolled
    /// fingers: each begins with a slash and has fewer than 4096 bytes.
    ///
    /// A device that is not simulated takes the machine's own fprintd alone: /run/dbus/system_bus_socket and
    /// /var/lib/fprint. Items bound to simulated fingers are lost, as after any change of the set (AC-50). A simulated
    /// device stays a simulated device.
    ///
    /// Errors: as of Unlock. Refused: hasSensor; invalidName: a path is not as said here. After an error nothing has
    /// changed.
    package enum AddReader: VarlinkMethod {
        package static let name = "io.touchstone.Device.AddReader"
        package struct Parameters: MessageCodable {
            package var bus: String
            package var templates: String
            package var passcode: SealedPasscode

            package init(bus: String, templates: String, passcode: SealedPasscode) {
                self.bus = bus
                self.templates = templates
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.bus = try json.value("bus")
                self.templates = try json.value("templates")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(bus, for: "bus")
                try json.write(templates, for: "templates")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Accepts the keychain's items with an access control as Check of io.touchstone.Backup found them in this look.
    ///
    /// It needs the passcode (PC-22), sealed for this look; another look makes it stale (staleNonce). From then on,
    /// apps get again the items that were refused because the keychain's file was altered, as they are now.
    ///
    /// Errors: as of Unlock. After an error nothing has changed.
    package enum AcceptItems: VarlinkMethod {
        package static let name = "io.touchstone.Device.AcceptItems"
        package struct Parameters: MessageCodable {
            package var look: String
            package var passcode: SealedPasscode

            package init(look: String, passcode: SealedPasscode) {
                self.look = look
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.look = try json.value("look")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(look, for: "look")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Unlocks the lock screen with the passcode.
    ///
    /// This ends a biometric lockout (EV-27). After a boot it is the first unlock.
    ///
    /// Errors: PasscodeRejected: it is wrong. Refused: passcodeNotSet, passcodeDisabled, passcodeTooLong, busy (another
    /// one is being checked, or the delay is not over), staleNonce, unreadablePasscode. After an error the lock is as
    /// it was.
    package enum Unlock: VarlinkMethod {
        package static let name = "io.touchstone.Device.Unlock"
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

        package typealias Reply = Empty
    }

    /// Locks the device: items of the classes that need it unlocked cannot be opened, and contexts lose what they had
    /// proven (EV-33).
    ///
    /// A device without a passcode does not lock (KC-22). requiresPasscode: only the passcode unlocks it again, even if
    /// it is locked already (PC-20); absent: a finger may.
    ///
    /// After three locks within two minutes that changed something, no program can lock the device for five minutes.
    /// Otherwise a program could lock the owner out. The owner's session and sleep still lock it. A device with
    /// simulated fingers has no such limit.
    ///
    /// Errors: Refused: lockedTooOften.
    package enum Lock: VarlinkMethod {
        package static let name = "io.touchstone.Device.Lock"
        package struct Parameters: MessageCodable {
            package var requiresPasscode: Bool?

            package init(requiresPasscode: Bool? = nil) {
                self.requiresPasscode = requiresPasscode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.requiresPasscode = try json.valueIfPresent("requiresPasscode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(requiresPasscode, for: "requiresPasscode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Whether an app may use Face ID, as the owner answered (CE-09). app is its application identifier, as prompts
    /// show it.
    package struct FaceIDPermission: MessageCodable, Hashable {
        package var app: AppIdentifier
        package var isAllowed: Bool

        package init(app: AppIdentifier, isAllowed: Bool) {
            self.app = app
            self.isAllowed = isAllowed
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.app = try json.value("app")
            self.isAllowed = try json.value("isAllowed")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(app, for: "app")
            try json.write(isAllowed, for: "isAllowed")
            json.endObject()
        }
    }

    /// The apps for which the owner has answered, in the order of the answers.
    ///
    /// For any other app, the owner is asked the first time that the app would use Face ID (CE-10).
    package enum ListFaceIDPermissions: VarlinkMethod {
        package static let name = "io.touchstone.Device.ListFaceIDPermissions"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var permissions: [DeviceInterface.FaceIDPermission]

            package init(permissions: [DeviceInterface.FaceIDPermission]) {
                self.permissions = permissions
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.permissions = try json.value("permissions")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(permissions, for: "permissions")
                json.endObject()
            }
        }
    }

    /// Allows or denies an app the use of Face ID. isAllowed absent: forgets the answer, so that the app's next
    /// evaluation asks.
    ///
    /// If it is denied, a running evaluation goes on with the passcode or ends with -6, and the app loses what faces
    /// had proven.
    ///
    /// The 128 newest answers are kept. For an app with an older answer, the owner is asked again.
    ///
    /// Errors: Refused: noFaceID: the device has none; invalidName: an application identifier has 1 to 1024 bytes.
    package enum SetFaceIDPermission: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetFaceIDPermission"
        package struct Parameters: MessageCodable {
            package var app: AppIdentifier
            package var isAllowed: Bool?

            package init(app: AppIdentifier, isAllowed: Bool? = nil) {
                self.app = app
                self.isAllowed = isAllowed
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.isAllowed = try json.valueIfPresent("isAllowed")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(isAllowed, for: "isAllowed")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The owner agrees to a backup or to an import: passcode holds two entries, the passcode and the backup's key (32
    /// bytes), sealed for the direction. io.touchstone.Backup does the rest.
    ///
    /// Errors: PasscodeRejected: it is wrong. Refused: passcodeNotSet, passcodeDisabled, passcodeTooLong, busy, locked,
    /// staleNonce, unreadablePasscode. After an error there is no session.
    package enum AuthorizeBackup: VarlinkMethod {
        package static let name = "io.touchstone.Device.AuthorizeBackup"
        package struct Parameters: MessageCodable {
            package var direction: BackupDirection
            package var passcode: SealedPasscode

            package init(direction: BackupDirection, passcode: SealedPasscode) {
                self.direction = direction
                self.passcode = passcode
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.direction = try json.value("direction")
                self.passcode = try json.value("passcode")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(direction, for: "direction")
                try json.write(passcode, for: "passcode")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Driving: ends both daemons after the reply; the supervisor starts them again.
    ///
    /// Contexts and prompts are lost, and the device waits for its first unlock.
    ///
    /// Errors: NotSimulated.
    package enum Reboot: VarlinkMethod {
        package static let name = "io.touchstone.Device.Reboot"
        package typealias Parameters = Empty
        package typealias Reply = Empty
    }

    /// Driving: enrols a finger, or a face.
    ///
    /// A device with a real sensor answers NotSimulated to this, to RemoveFinger and to PresentFinger. finger names it:
    /// 1...64 bytes of UTF-8. Items bound to the current set are lost (AC-50), domain states change (DS-03).
    ///
    /// Errors: NotSimulated. Refused: passcodeNotSet (PC-23), noSensor, tooManyFingers (five fingers, two faces:
    /// PC-30), fingerAlreadyEnrolled, invalidName. After an error the enrolment is as before.
    package enum Enroll: VarlinkMethod {
        package static let name = "io.touchstone.Device.Enroll"
        package struct Parameters: MessageCodable {
            package var finger: String

            package init(finger: String) {
                self.finger = finger
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.finger = try json.value("finger")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(finger, for: "finger")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Driving: removes a finger, or a face, with the consequences of Enroll.
    ///
    /// Errors: NotSimulated. Refused: noSuchFinger. After an error the enrolment is as before.
    package enum RemoveFinger: VarlinkMethod {
        package static let name = "io.touchstone.Device.RemoveFinger"
        package struct Parameters: MessageCodable {
            package var finger: String

            package init(finger: String) {
                self.finger = finger
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.finger = try json.value("finger")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(finger, for: "finger")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The names of what is enrolled: shown to the owner, never matched.
    package enum ListFingers: VarlinkMethod {
        package static let name = "io.touchstone.Device.ListFingers"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var fingers: [String]

            package init(fingers: [String]) {
                self.fingers = fingers
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.fingers = try json.value("fingers")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(fingers, for: "fingers")
                json.endObject()
            }
        }
    }

    /// Driving: lays a finger on the sensor, or shows a face. finger absent, or not enrolled: it does not match.
    ///
    /// If a prompt waits for a finger and the sensor does not count for it yet, the finger stays until it does, and the
    /// answer comes then. If the prompt ends first, the touch is notWaiting.
    ///
    /// Errors: NotSimulated.
    package enum PresentFinger: VarlinkMethod {
        package static let name = "io.touchstone.Device.PresentFinger"
        package struct Parameters: MessageCodable {
            package var finger: String?

            package init(finger: String? = nil) {
                self.finger = finger
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.finger = try json.valueIfPresent("finger")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(finger, for: "finger")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var touch: DeviceInterface.Touch

            package init(touch: DeviceInterface.Touch) {
                self.touch = touch
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.touch = try json.value("touch")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(touch, for: "touch")
                json.endObject()
            }
        }
    }

    /// Driving: says where an app (its application identifier) is.
    ///
    /// Every app is in the foreground until this says otherwise. A prompt of an app that goes to the background ends
    /// with -4 (EV-52).
    ///
    /// Errors: NotSimulated.
    package enum SetApplicationState: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetApplicationState"
        package struct Parameters: MessageCodable {
            package var app: AppIdentifier
            package var state: DeviceInterface.ApplicationState

            package init(app: AppIdentifier, state: DeviceInterface.ApplicationState) {
                self.app = app
                self.state = state
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.app = try json.value("app")
                self.state = try json.value("state")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(app, for: "app")
                try json.write(state, for: "state")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Driving: unplugs the sensor, or plugs it in.
    ///
    /// While it is unplugged, its problem is noReader, biometry is not available (-6, whatever is enrolled), and a
    /// finger does nothing. An evaluation that waits for it goes on with the passcode if that is enough; otherwise it
    /// ends with -6. The enrolment stays. After a boot the sensor is plugged in.
    ///
    /// Errors: NotSimulated. Refused: noSensor.
    package enum SetSensorConnected: VarlinkMethod {
        package static let name = "io.touchstone.Device.SetSensorConnected"
        package struct Parameters: MessageCodable {
            package var isConnected: Bool

            package init(isConnected: Bool) {
                self.isConnected = isConnected
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.isConnected = try json.value("isConnected")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(isConnected, for: "isConnected")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// Driving: moves the clock of the device, which both daemons use, forward.
    ///
    /// That concerns delays after wrong passcodes (PC-01), the window of a biometric unlock (EV-40), the times after
    /// which only the passcode helps (PC-20), the dates of items and of the log. seconds: more than 0, at most 366
    /// days; all calls together at most ten times that. A boot sets the clock to the machine's again; time that passed
    /// before the boot no longer counts (PC-03, PC-20). Waits for programs do not use this clock, for example the wait
    /// until an agent shows a prompt.
    ///
    /// Errors: NotSimulated. org.varlink.service.InvalidParameter: another duration; nothing changed.
    package enum AdvanceClock: VarlinkMethod {
        package static let name = "io.touchstone.Device.AdvanceClock"
        package struct Parameters: MessageCodable {
            package var seconds: Double

            package init(seconds: Double) {
                self.seconds = seconds
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.seconds = try json.value("seconds")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(seconds, for: "seconds")
                json.endObject()
            }
        }

        package typealias Reply = Empty
    }

    /// The lines of the log as they are kept, oldest first, some with each reply.
    ///
    /// Call it with "more". newest: how many lines, the newest ones. follow: goes on with each new line; at most 10,000
    /// older lines come before the new ones. docs/audit-log.md describes a line.
    ///
    /// With follow, a client that does not read what it is sent is disconnected.
    ///
    /// Errors: Refused: notOwner, notKept (the log cannot be read), busy (four calls of the process follow already).
    package enum ReadLog: VarlinkMethod {
        package static let name = "io.touchstone.Device.ReadLog"
        package struct Parameters: MessageCodable {
            package var newest: Int?
            package var follow: Bool

            package init(newest: Int? = nil, follow: Bool) {
                self.newest = newest
                self.follow = follow
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.newest = try json.valueIfPresent("newest")
                self.follow = try json.value("follow")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(newest, for: "newest")
                try json.write(follow, for: "follow")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var lines: [String]

            package init(lines: [String]) {
                self.lines = lines
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.lines = try json.value("lines")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(lines, for: "lines")
                json.endObject()
            }
        }
    }

    /// For each of these lines, in their order, whether the enclave wrote it; at most 1,000 lines are checked.
    ///
    /// Errors: Refused: notOwner.
    package enum CheckLog: VarlinkMethod {
        package static let name = "io.touchstone.Device.CheckLog"
        package struct Parameters: MessageCodable {
            package var lines: [String]

            package init(lines: [String]) {
                self.lines = lines
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.lines = try json.value("lines")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(lines, for: "lines")
                json.endObject()
            }
        }

        package struct Reply: MessageCodable {
            package var genuine: [Bool]

            package init(genuine: [Bool]) {
                self.genuine = genuine
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.genuine = try json.value("genuine")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(genuine, for: "genuine")
                json.endObject()
            }
        }
    }

    /// Where the log ends as the enclave knows it.
    ///
    /// Events that were only counted are written first, at most 20 entries in a second. All lines written until then
    /// are on the disk when it answers, unless the disk fails.
    ///
    /// Errors: Refused: notOwner.
    package enum GetLogHead: VarlinkMethod {
        package static let name = "io.touchstone.Device.GetLogHead"
        package typealias Parameters = Empty
        package struct Reply: MessageCodable {
            package var head: LogHead

            package init(head: LogHead) {
                self.head = head
            }

            package init(from json: MessageDecoder) throws {
                try json.checkIsObject()
                self.head = try json.value("head")
            }

            package func write(to json: inout JSONOutput) throws {
                json.beginObject()
                try json.write(head, for: "head")
                json.endObject()
            }
        }
    }

    /// The device, or its sensor, was not created as simulated.
    ///
    /// Nothing was done.
    package struct NotSimulated: VarlinkError, EmptyMessage {
        package static let name = "io.touchstone.Device.NotSimulated"

        package init() {}
    }

    /// The passcode was not accepted; only the count of failures changed. retryAfterSeconds: until the next passcode is
    /// checked; absent: now. isErased: it was the tenth wrong passcode in a row, and the device was erased, as its
    /// owner had chosen (PC-02).
    ///
    /// It now has no passcode, nothing is enrolled, and every item is gone.
    package struct PasscodeRejected: VarlinkError {
        package static let name = "io.touchstone.Device.PasscodeRejected"
        package var retryAfterSeconds: Double?
        package var isErased: Bool

        package init(retryAfterSeconds: Double? = nil, isErased: Bool) {
            self.retryAfterSeconds = retryAfterSeconds
            self.isErased = isErased
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.retryAfterSeconds = try json.valueIfPresent("retryAfterSeconds")
            self.isErased = try json.value("isErased")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(retryAfterSeconds, for: "retryAfterSeconds")
            try json.write(isErased, for: "isErased")
            json.endObject()
        }
    }

    /// The state of the device, or who calls, does not allow it; nothing changed.
    ///
    /// With notListed, program is the caller's application identifier, and directory holds the files of the list.
    package struct Refused: VarlinkError {
        package static let name = "io.touchstone.Device.Refused"
        package var reason: DeviceInterface.RefusalReason
        package var program: String?
        package var directory: String?

        package init(reason: DeviceInterface.RefusalReason, program: String? = nil, directory: String? = nil) {
            self.reason = reason
            self.program = program
            self.directory = directory
        }

        package init(from json: MessageDecoder) throws {
            try json.checkIsObject()
            self.reason = try json.value("reason")
            self.program = try json.valueIfPresent("program")
            self.directory = try json.valueIfPresent("directory")
        }

        package func write(to json: inout JSONOutput) throws {
            json.beginObject()
            try json.write(reason, for: "reason")
            try json.write(program, for: "program")
            try json.write(directory, for: "directory")
            json.endObject()
        }
    }
}
