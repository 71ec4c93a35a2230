import Foundation
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
package import TouchstoneTransport

/// `io.touchstone.Enclave`: carries calls to the host and events back.
///
/// Answers only on the private socket pair.
package struct EnclaveService: Sendable {
    private let host: EnclaveHost

    package init(host: EnclaveHost) {
        self.host = host
    }

    /// What the kept state says counts: no option and no message can make a real device, or a real sensor, simulated.
    private func checkSimulated() throws {
        guard host.isSimulated else { throw DeviceInterface.NotSimulated() }
    }

    private func checkFingersSimulated() throws {
        guard host.isSimulated, host.sensorSource == nil else { throw DeviceInterface.NotSimulated() }
    }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: EnclaveInterface.name, description: EnclaveInterface.file,
            handlers: evaluations + settings + simulation + keys + privateKeys + backups + logging)
    }

    private var evaluations: [VarlinkHandler] {
        [
            .method(EnclaveInterface.GetFacts.self) { request, _ in
                host.lookAtSensor()
                return .init(facts: host.read { $0.facts(app: request.app, now: $1) })
            },
            .method(EnclaveInterface.CreateContext.self) { request, _ in
                .init(
                    context: try host.change { enclave, _ in
                        (enclave.createContext(app: request.app, accessGroups: request.accessGroups), [])
                    })
            },
            .method(EnclaveInterface.InvalidateContext.self) { request, _ in
                try host.change { enclave, _ in (Empty(), enclave.invalidateContext(request.context)) }
            },
            .method(EnclaveInterface.SetCredential.self) { request, _ in try host.setCredential(request) },
            .method(EnclaveInterface.IsCredentialSet.self) { request, _ in
                host.read { enclave, now in
                    .init(
                        isSet: enclave.isCredentialSet(request),
                        retryAfterSeconds: enclave.passwordRetryAfter(app: request.app, now: now))
                }
            },
            .method(EnclaveInterface.Preflight.self) { request, _ in
                host.lookAtSensor(for: request.requirement)
                return try host.change { enclave, now in
                    enclave.applyReuse(request, now: now)
                    let reply = enclave.preflight(request, now: now)
                    enclave.note(request, reply)
                    return (reply, [])
                }
            },
            .method(EnclaveInterface.BeginEvaluation.self) { request, _ in
                try host.change { try $0.beginEvaluation(request, now: $1) }
            },
            .method(EnclaveInterface.EndEvaluation.self) { request, _ in
                try host.change { enclave, _ in
                    enclave.endEvaluation(request.evaluation, request.code ?? .systemCancel)
                    return (Empty(), [])
                }
            },
            .method(EnclaveInterface.SetShown.self) { request, _ in
                try host.change { enclave, now in
                    guard let seconds = enclave.setShown(request.isShown, request.evaluation, now: now) else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (.init(touchesAfterSeconds: seconds), [])
                }
            },
            .method(EnclaveInterface.ChooseFallback.self) { request, _ in
                try host.change { enclave, now in
                    guard enclave.evaluation?.identifier == request.evaluation else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (Empty(), enclave.chooseFallback(now: now))
                }
            },
            .method(EnclaveInterface.AnswerPermission.self) { request, _ in
                try host.change { enclave, now in
                    guard let evaluation = enclave.evaluation, evaluation.identifier == request.evaluation,
                        evaluation.phase == .permission, let context = enclave.contexts[evaluation.context]
                    else { throw EnclaveInterface.NoSuchEvaluation() }
                    return (
                        Empty(), try enclave.setFaceIDPermission(request.isAllowed, of: context.app, now: now)
                    )
                }
            },
            .method(EnclaveInterface.TryAgain.self) { request, _ in
                try host.change { enclave, now in
                    guard let evaluation = enclave.evaluation, evaluation.identifier == request.evaluation,
                        evaluation.phase == .retry
                    else { throw EnclaveInterface.NoSuchEvaluation() }
                    return (Empty(), enclave.tryAgain(now: now))
                }
            },
            .method(EnclaveInterface.SubmitPasscode.self) { request, _ in
                try host.derive(ticket: request.evaluation, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.submitPasscode(request.passcode, evaluation: request.evaluation, now: now)
                }
                return Empty()
            },
            .deferred(EnclaveInterface.WatchEvents.self) { _, call in
                guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
                host.watch { call.continue($0) }
                call.connection.onClose { host.watch(nil) }
                call.continue(.init(outcome: .progress))
            },
        ]
    }

    private var settings: [VarlinkHandler] {
        [
            .method(EnclaveInterface.GetNonce.self) { request, _ in
                .init(
                    nonce: try host.change { enclave, _ in
                        (enclave.freshNonce(connection: request.connection ?? 0), [])
                    })
            },
            .method(EnclaveInterface.EndConnection.self) { request, _ in
                try host.change { enclave, _ in (enclave.nonces.removeAll(of: request.connection), []) }
                return Empty()
            },
            .method(EnclaveInterface.ChangePasscode.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.changePasscode(
                        request.passcodes, kind: request.kind ?? .alphanumeric, connection: request.caller.connection,
                        now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.Unlock.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.unlock(request.passcode, connection: request.caller.connection, now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.SetEraseData.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.setEraseData(request, now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.ForgetReader.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.forgetReader(request, now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.AcceptItems.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.acceptItems(request, now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.Lock.self) { request, _ in
                // A refusal is a result here: what the log says of it stays.
                try host.change {
                    $0.lockForProgram(
                        requiresPasscode: request.requiresPasscode ?? false, by: request.caller?.app, now: $1)
                }.get()
            },
            .method(EnclaveInterface.Enroll.self) { request, _ in
                try checkFingersSimulated()
                return try host.change { enclave, _ in
                    try enclave.enroll(request.finger, sample: Sample(Data(request.finger.utf8)))
                    return (Empty(), [])
                }
            },
            .method(EnclaveInterface.RemoveFinger.self) { request, _ in
                try checkFingersSimulated()
                return try host.change { enclave, _ in
                    try enclave.removeFinger(request.finger)
                    return (Empty(), [])
                }
            },
            .method(EnclaveInterface.ListFingers.self) { _, _ in
                .init(fingers: host.read { enclave, _ in enclave.state.templates.map(\.name) })
            },
            .method(EnclaveInterface.ListFaceIDPermissions.self) { _, _ in
                .init(
                    permissions: host.read { enclave, _ in
                        (enclave.state.faceIDPermissions ?? []).map { .init(app: $0.app, isAllowed: $0.isAllowed) }
                    })
            },
            .method(EnclaveInterface.SetFaceIDPermission.self) { request, _ in
                try host.change { enclave, now in
                    (Empty(), try enclave.setFaceIDPermission(request.isAllowed, of: request.app, now: now))
                }
            },
            .method(EnclaveInterface.PresentFinger.self) { request, _ in
                try checkFingersSimulated()
                // A finger that nobody can have enrolled: names are at least one byte long.
                return .init(touch: try host.touch(Sample(Data((request.finger ?? "").utf8))))
            },
        ]
    }

    private var simulation: [VarlinkHandler] {
        [
            .method(EnclaveInterface.SetSensorConnected.self) { request, _ in
                try checkFingersSimulated()
                return try host.change { (Empty(), try $0.setSensorConnected(request.isConnected, now: $1)) }
            },
            .method(EnclaveInterface.AdvanceClock.self) { request, _ in
                // Where fingers are real, so are delays.
                try checkFingersSimulated()
                try host.advanceClock(by: request.seconds)
                return Empty()
            },
            .method(EnclaveInterface.InspectClassKeys.self) { _, _ in
                try checkSimulated()
                return host.read { enclave, _ in enclave.inspectClassKeys() }
            },
            .method(EnclaveInterface.InspectItems.self) { request, _ in
                try checkSimulated()
                return host.read { $0.inspectItems(request, now: $1) }
            },
        ]
    }

    private var keys: [VarlinkHandler] {
        [
            .method(EnclaveInterface.GetLookupKey.self) { _, _ in
                .init(key: host.read { enclave, _ in enclave.lookupKey().publicBytes })
            },
            .method(EnclaveInterface.GetMetadataKeys.self) { _, _ in
                host.read { enclave, _ in enclave.metadataKeys() }
            },
            .method(EnclaveInterface.ConfirmErasure.self) { _, _ in
                try host.change { enclave, _ in (enclave.confirmErasure(), []) }
                return Empty()
            },
            .method(EnclaveInterface.CompareItems.self) { request, _ in
                try ofRows { try host.compareItems(request) }
            },
            .method(EnclaveInterface.RecordItems.self) { request, _ in
                try ofRows { try host.recordItems(request) }
            },
            .method(EnclaveInterface.SettleItems.self) { _, _ in
                host.settleItems()
                return Empty()
            },
            .method(EnclaveInterface.WrapKey.self) { request, _ in
                // AC-50: what is enrolled when it is added.
                host.lookAtSensor(for: request.accessControl.requirement)
                return try host.wrap(request)
            },
            .method(EnclaveInterface.UnwrapKeys.self) { request, _ in
                host.lookAtSensor(for: request.context)
                return try host.unwrap(request)
            },
        ]
    }

    private var privateKeys: [VarlinkHandler] {
        [
            .method(EnclaveInterface.CreateKey.self) { request, _ in
                host.lookAtSensor(for: request.accessControl.requirement)
                return try host.createKey(request)
            },
            .method(EnclaveInterface.InspectKey.self) { request, _ in
                try host.read { enclave, _ in try enclave.inspectKey(request) }
            },
            .method(EnclaveInterface.Sign.self) { request, _ in try host.sign(request) },
            .method(EnclaveInterface.ExchangeKeys.self) { request, _ in try host.exchangeKeys(request) },
            .method(EnclaveInterface.SignMessage.self) { request, _ in try host.signMessage(request) },
            .method(EnclaveInterface.Decapsulate.self) { request, _ in try host.decapsulate(request) },
        ]
    }

    private var logging: [VarlinkHandler] {
        [
            .method(EnclaveInterface.ResumeLog.self) { request, _ in
                host.resumeLog(newestLines: request.newestLines)
                return Empty()
            },
            .method(EnclaveInterface.GetLogHead.self) { _, _ in .init(head: host.logHead()) },
            .method(EnclaveInterface.CheckLog.self) { request, _ in
                .init(genuine: host.checkLog(Array(request.lines.prefix(LogBatches<[String]>.maximumLines))))
            },
            .method(EnclaveInterface.NoteObservation.self) { request, _ in
                host.note(request)
                return Empty()
            },
            .method(EnclaveInterface.CloseLog.self) { _, _ in .init(head: host.closeLog()) },
        ]
    }

    private func ofRows<Reply>(_ body: () throws -> Reply) throws -> Reply {
        do { return try body() } catch let error as MalformedItems {
            throw VarlinkServiceError.InvalidParameter(parameter: error.parameter)
        }
    }

    private var backups: [VarlinkHandler] {
        [
            .method(EnclaveInterface.AuthorizeBackup.self) { request, _ in
                let ticket = Enclave.freshIdentifier()
                try host.derive(ticket: ticket, by: request.caller) {
                    (enclave, now) throws(DeviceInterface.Refused) in
                    try enclave.authorizeBackup(request, now: now)
                }
                return .init(ticket: ticket)
            },
            .method(EnclaveInterface.ExportKeys.self) { request, _ in
                let keys = try host.change { (try $0.exportKeys(request, now: $1), []) }
                host.note(.backupExported, keys)
                return .init(keys: keys)
            },
            .method(EnclaveInterface.ImportKeys.self) { request, _ in
                let keys = try host.change { (try $0.importKeys(request, now: $1), []) }
                host.note(.backupImported, keys)
                return .init(keys: keys)
            },
            .method(EnclaveInterface.EndBackup.self) { request, _ in
                try host.change { enclave, _ in (enclave.endBackup(request.session), []) }
                return Empty()
            },
        ]
    }
}
