import Dispatch
import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
package import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Device`: the owner's settings, the lock screen, and the hands that drive a simulated device.
package final class DeviceService: Sendable {
    let name: String
    let enclave: EnclaveClient
    let log: DeviceLog
    let authentication: AuthenticationService
    let clock: DeviceClock
    private let ownerID: UInt32
    private let classKeysChanged: @Sendable () throws -> Void
    private let environmentChanged: @Sendable () -> Void
    private let reboot: @Sendable () -> Void
    private let nonces: ConnectionNonces
    let statusWatchers = Mutex<[ObjectIdentifier: StatusWatcher]>([:])
    /// Carries what they are told, in the order in which it happened.
    let statuses = DispatchQueue(label: "io.touchstone.device.statuses")

    /// `clock` is the one by which all of touchstoned goes.
    ///
    /// `keysChanged` is called when class keys came or went, before anybody hears why; `environmentChanged` when what can be proven
    /// may be another; `reboot` after the reply to `Reboot`.
    package init(
        name: String, enclave: EnclaveClient, authentication: AuthenticationService, log: DeviceLog, clock: DeviceClock,
        ownerID: UInt32, keysChanged: @escaping @Sendable () throws -> Void,
        environmentChanged: @escaping @Sendable () -> Void, reboot: @escaping @Sendable () -> Void
    ) {
        self.name = name
        self.enclave = enclave
        nonces = ConnectionNonces(enclave)
        self.authentication = authentication
        self.log = log
        self.clock = clock
        self.ownerID = ownerID
        classKeysChanged = keysChanged
        self.environmentChanged = environmentChanged
        self.reboot = reboot
        authentication.whenAgentsChange { [weak self] in self?.statusChanged() }
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: DeviceInterface.name, description: DeviceInterface.file, ownerID: ownerID,
            handlers: watching + settings + driving + logging)
    }

    /// The device locked or unlocked, or has another passcode: whoever goes by that hears of it after our own keys are the new ones.
    private func keysChanged() throws {
        defer {
            authentication.endUnlockIfDone()
            statusChanged()
        }
        try classKeysChanged()
    }

    /// Takes one event of the enclave's.
    package func handle(_ event: EnclaveInterface.WatchEvents.Reply) {
        if [.erased, .unlocked, .locked].contains(event.outcome) { try? keysChanged() }
        if let lines = event.log { log.take(lines) }
        if event.ticket == nil, event.log == nil, event.evaluation == nil { environmentChanged() }
    }

    private var settings: [OwnerHandler] {
        [
            .method(DeviceInterface.GetNonce.self) { [self] _, connection, owner in
                try passingOn { try nonces.fresh(for: connection, owner) }
            },
            .deferred(DeviceInterface.ChangePasscode.self) { [self] request, call, owner in
                redeem(call, owner, then: { [authentication] in authentication.endPasswordEntry(.passcodeChanged) }) {
                    caller in
                    try enclave.call(
                        EnclaveInterface.ChangePasscode.self,
                        .init(passcodes: request.passcodes, kind: request.kind, caller: caller))
                }
            },
            .deferred(DeviceInterface.Unlock.self) { [self] request, call, owner in
                redeem(call, owner, whenRefused: { [authentication] in authentication.unlockRefused($0) }) { caller in
                    try enclave.call(
                        EnclaveInterface.Unlock.self, .init(passcode: request.passcode, caller: caller))
                }
            },
            .deferred(DeviceInterface.AuthorizeBackup.self) { [self] request, call, owner in
                redeem(call, owner) { caller in
                    try enclave.call(
                        EnclaveInterface.AuthorizeBackup.self,
                        .init(direction: request.direction, passcode: request.passcode, caller: caller))
                }
            },
            .deferred(DeviceInterface.SetEraseData.self) { [self] request, call, owner in
                redeem(call, owner) { caller in
                    try enclave.call(
                        EnclaveInterface.SetEraseData.self,
                        .init(isOn: request.isOn, passcode: request.passcode, caller: caller))
                }
            },
            .deferred(DeviceInterface.ForgetReader.self) { [self] request, call, owner in
                redeem(call, owner) { caller in
                    try enclave.call(
                        EnclaveInterface.ForgetReader.self, .init(passcode: request.passcode, caller: caller))
                }
            },
            .deferred(DeviceInterface.AddReader.self) { [self] request, call, owner in
                redeem(call, owner) { caller in
                    try enclave.call(
                        EnclaveInterface.AddReader.self,
                        .init(
                            bus: request.bus, templates: request.templates, passcode: request.passcode, caller: caller))
                }
            },
            .deferred(DeviceInterface.AcceptItems.self) { [self] request, call, owner in
                redeem(call, owner) { caller in
                    try enclave.call(
                        EnclaveInterface.AcceptItems.self,
                        .init(look: request.look, passcode: request.passcode, caller: caller))
                }
            },
            owner(DeviceInterface.ListFaceIDPermissions.self) { [self] in
                try enclave.call(EnclaveInterface.ListFaceIDPermissions.self, $0)
            },
            owner(DeviceInterface.SetFaceIDPermission.self) { [self] in
                try enclave.call(EnclaveInterface.SetFaceIDPermission.self, $0)
            },
            .method(DeviceInterface.Lock.self) { [self] request, connection, _ in
                let reply = try passingOn {
                    try enclave.call(
                        EnclaveInterface.Lock.self,
                        .init(requiresPasscode: request.requiresPasscode, caller: EnclaveInterface.Caller(connection)))
                }
                if try facts().isLocked { authentication.endPasswordEntry(.lockedMeanwhile) }
                try keysChanged()
                return reply
            },
        ]
    }

    private var driving: [OwnerHandler] {
        [
            .deferred(DeviceInterface.Reboot.self) { [self] _, call, _ in
                do {
                    try checkSimulated()
                    call.reply(Empty())
                    reboot()
                } catch {
                    call.answer(.failure(error))
                }
            },
            owner(DeviceInterface.Enroll.self) { [self] in try enclave.call(EnclaveInterface.Enroll.self, $0) },
            owner(DeviceInterface.RemoveFinger.self) { [self] in
                try enclave.call(EnclaveInterface.RemoveFinger.self, $0)
            },
            owner(DeviceInterface.ListFingers.self) { [self] in
                try enclave.call(EnclaveInterface.ListFingers.self, $0)
            },
            .deferred(DeviceInterface.PresentFinger.self) { [self] request, call, owner in
                authentication.whenTouchCounts { [self] counts in
                    call.answer(
                        Result { try counts ? passingOn { try present(request, owner) } : .init(touch: .notWaiting) })
                }
            },
            owner(DeviceInterface.SetSensorConnected.self) { [self] in
                try enclave.call(EnclaveInterface.SetSensorConnected.self, $0)
            },
            owner(DeviceInterface.AdvanceClock.self) { [self] request in
                let reply = try enclave.call(EnclaveInterface.AdvanceClock.self, request)
                clock.advance(by: request.seconds)
                authentication.clockAdvanced()
                return reply
            },
            owner(DeviceInterface.SetApplicationState.self) { [self] request in
                try checkSimulated()
                authentication.setApplicationState(request.app, request.state)
                return Empty()
            },
        ]
    }

    /// A method that answers at once; what the enclave refuses is passed on.
    func owner<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters) throws -> M.Reply
    ) -> OwnerHandler {
        .method(method) { [self] request, _, _ in try passingOn { try body(request) } }
    }

    private func present(
        _ request: DeviceInterface.PresentFinger.Parameters, _ owner: IsOwner
    ) throws -> DeviceInterface.PresentFinger.Reply {
        let reply = try enclave.call(EnclaveInterface.PresentFinger.self, request)
        if reply.touch == .unlocked { try keysChanged() }
        return reply
    }

    private func passingOn<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as RemoteError {
            throw Self.passedOn(error)
        }
    }

    /// Answers a call once the enclave has judged its passcode; where it was right, after `done`.
    private func redeem<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ owner: IsOwner, then done: @escaping @Sendable () -> Void = {},
        whenRefused: @escaping @Sendable (DeviceInterface.PasscodeRejected?) -> Void = { _ in },
        _ begin: (EnclaveInterface.Caller) throws -> EnclaveInterface.Ticket
    ) where M.Reply == Empty {
        do {
            try enclave.awaitAnswer {
                try begin(EnclaveInterface.Caller(call.connection)).ticket
            } _: { [self] event in
                guard let event else { return call.fail(DeviceInterface.Refused(.busy)) }
                if event.outcome == .succeeded {
                    try? keysChanged()
                    done()
                    call.reply(Empty())
                } else if let refusal = event.refusal {
                    whenRefused(nil)
                    call.fail(DeviceInterface.Refused(refusal))
                } else {
                    // It was looked at, so there was a passcode: where there is none now, this one erased the device.
                    let rejected = DeviceInterface.PasscodeRejected(
                        retryAfterSeconds: event.retryAfterSeconds, isErased: (try? facts())?.wasErased ?? false)
                    whenRefused(rejected)
                    call.fail(rejected)
                }
            }
        } catch let error as RemoteError {
            let passedOn = Self.passedOn(error)
            // A passcode that is not looked at because of the delay is told as one that was rejected, with the time.
            if let refused = passedOn as? DeviceInterface.Refused, refused.reason == .busy,
                let seconds = try? facts().passcodeRetryAfterSeconds
            {
                let rejected = DeviceInterface.PasscodeRejected(retryAfterSeconds: seconds, isErased: false)
                whenRefused(rejected)
                return call.fail(rejected)
            }
            whenRefused(nil)
            call.answer(.failure(passedOn))
        } catch {
            call.answer(.failure(error))
        }
    }

    func facts() throws -> EnclaveInterface.Facts {
        try enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts
    }

    private func checkSimulated() throws {
        guard try facts().isSimulated else { throw DeviceInterface.NotSimulated() }
    }

    private static func passedOn(_ error: RemoteError) -> any Error {
        if let refused = error.as(DeviceInterface.Refused.self) { return refused }
        if error.as(EnclaveInterface.NotKept.self) != nil { return DeviceInterface.Refused(.notKept) }
        if let notSimulated = error.as(DeviceInterface.NotSimulated.self) { return notSimulated }
        if let invalid = error.as(VarlinkServiceError.InvalidParameter.self) { return invalid }
        return error
    }
}

extension EnclaveInterface.Caller {
    /// As touchstoned knows it.
    init(_ connection: VarlinkConnection) {
        self.init(connection: connection.number, app: (try? connection.identity())?.identifier)
    }
}
