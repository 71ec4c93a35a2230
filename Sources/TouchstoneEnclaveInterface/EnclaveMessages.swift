package import Foundation
package import TouchstoneCore
package import TouchstoneInterfaces

extension EnclaveInterface {
    /// The text of the interface file.
    package static var file: [UInt8] { PackageResources.io_touchstone_Enclave_varlink }
}

extension EnclaveInterface {
    /// What `WatchEvents` tells of later.
    package typealias Ticket = ChangePasscode.Reply
}

extension EnclaveInterface.NotWrapped {
    package init(_ status: Status, _ cause: RefusalCause? = nil) {
        self.init(status: status.rawValue, reason: cause?.rawValue)
    }
}

extension EnclaveInterface.NoteObservation.Parameters {
    package init(
        _ observation: EnclaveInterface.Observation, count: Int? = nil, refused: EnclaveInterface.RefusedCall? = nil
    ) {
        self.init(observation: observation, count: count, refused: refused)
    }
}

extension EnclaveInterface.Preflight.Reply {
    package init(
        verdict: EnclaveInterface.Verdict, code: AuthenticationFailure? = nil, cause: RefusalCause?,
        biometryType: BiometryType?
    ) {
        self.init(verdict: verdict, code: code, reason: cause?.rawValue, biometryType: biometryType)
    }
}

extension EnclaveInterface.Prospect {
    package init(_ availability: InspectorInterface.Availability, obstacle: AuthenticationFailure? = nil) {
        self.init(availability: availability, obstacle: obstacle)
    }
}

extension EnclaveInterface.RefusedCall {
    package init(app: AppIdentifier, client: AppIdentifier? = nil, cause: RefusalCause, requirement: Requirement?) {
        self.init(app: app, client: client, reason: cause.rawValue, requirement: requirement)
    }
}

extension EnclaveInterface.ResumeLog {
    /// Lines that are looked at.
    package static let maximumLines = 32
}

extension EnclaveInterface.RewrappedKey {
    package init(_ verdict: EnclaveInterface.BackupVerdict, wrappedKey: Data? = nil) {
        self.init(verdict: verdict, wrappedKey: wrappedKey)
    }
}

extension EnclaveInterface.WatchEvents.Reply {
    package init(
        evaluation: String? = nil, outcome: EnclaveInterface.Outcome, code: AuthenticationFailure? = nil,
        progress: EnclaveInterface.Progress? = nil, cause: RefusalCause?
    ) {
        self.init(
            evaluation: evaluation, outcome: outcome, code: code, progress: progress, reason: cause?.rawValue)
    }
}

extension EnclaveInterface {
    /// Bytes of `ItemBinding.item`: the class, and with it the identifier and the version of the row, 16 bytes each.
    package static let boundItemBytes = boundItemClassBytes + 32
    package static let boundItemClassBytes = 4
    /// Bindings in one message.
    package static let boundItemsPerMessage = 8192
    /// Keys for what is still to be written, in one `WrapKey`.
    package static let spareKeysPerMessage = 16
}
