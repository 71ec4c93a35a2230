import Foundation
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
package import TouchstoneTransport

/// `io.touchstone.Enclave`: carries calls to the host and events back.
///
/// Answers only on the private socket pair.
package struct EnclaveService: Sendable {
    let host: EnclaveHost

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
            handlers: evaluations + settings + simulation + keys + privateKeys + backups + circles + logging)
    }

    /// A method that is answered at once; the enclave's errors are told as messages.
    func method<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters) throws -> M.Reply
    ) -> VarlinkHandler {
        .method(method) { request, _ in
            do { return try body(request) } catch let error as any ToldError { throw error.told }
        }
    }

    /// A method that looks at a passcode, and is answered with a ticket.
    private func passcode<M: VarlinkMethod>(
        _ method: M.Type, by caller: @escaping @Sendable (M.Parameters) -> EnclaveInterface.Caller?,
        _ begin: @escaping @Sendable (inout Enclave, M.Parameters, Int, Double) throws(Enclave.Refused) -> PasscodeJob
    ) -> VarlinkHandler where M.Reply == EnclaveInterface.Ticket {
        self.method(method) { request in
            let ticket = host.random.identifier()
            let caller = Enclave.Caller(caller(request))
            try host.derive(ticket: ticket, by: caller) { (enclave, now) throws(Enclave.Refused) in
                try begin(&enclave, request, caller.connection, now)
            }
            return .init(ticket: ticket)
        }
    }

    /// A method that makes or uses a private key; what the hardware does is told later.
    private func key<M: VarlinkMethod, Product: Sendable>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters) throws -> KeyAnswer<Product>,
        reply: @escaping @Sendable (Product) -> M.Reply
    ) -> VarlinkHandler {
        .deferred(method) { request, call in
            do {
                switch try body(request) {
                case .done(let product): call.reply(reply(product))
                case .later(let ticket): call.fail(EnclaveInterface.Deferred(ticket: ticket))
                }
            } catch let error as any ToldError {
                call.fail(error.told)
            } catch {
                call.drop()
            }
        }
    }

    private var evaluations: [VarlinkHandler] {
        [
            method(EnclaveInterface.GetFacts.self) { request in
                host.lookAtSensor()
                return .init(facts: .init(host.read { $0.facts(app: request.app, now: $1) }))
            },
            method(EnclaveInterface.CreateContext.self) { request in
                .init(
                    context: try host.change { enclave, _ in
                        (
                            enclave.createContext(
                                app: request.app, accessGroups: request.accessGroups, client: request.client), []
                        )
                    })
            },
            method(EnclaveInterface.InvalidateContext.self) { request in
                try host.change { enclave, _ in (Empty(), enclave.invalidateContext(request.context)) }
            },
            method(EnclaveInterface.SetCredential.self) { request in
                .init(
                    ticket: try host.setCredential(
                        request.credential, context: request.context, app: request.app))
            },
            method(EnclaveInterface.IsCredentialSet.self) { request in
                host.read { enclave, now in
                    .init(
                        isSet: enclave.isCredentialSet(context: request.context, app: request.app),
                        retryAfterSeconds: enclave.passwordRetryAfter(app: request.app, now: now))
                }
            },
            method(EnclaveInterface.Preflight.self) { request in
                host.lookAtSensor(for: request.requirement)
                let request = Enclave.EvaluationRequest(request)
                let (verdict, biometryType) = try host.change { enclave, now in
                    enclave.applyReuse(request, now: now)
                    let verdict = enclave.preflight(request, now: now)
                    enclave.note(request, verdict)
                    return ((verdict, enclave.biometryType), [])
                }
                return .init(verdict, biometryType)
            },
            method(EnclaveInterface.BeginEvaluation.self) { request in
                host.lookAtSensor(for: request.requirement)
                // What is not begun is a result here: the context that was made stays, and what the log says of it.
                let (beginning, biometryType) = try host.change { enclave, now in
                    let (beginning, events) = enclave.beginEvaluation(.init(request), now: now)
                    return ((beginning, enclave.biometryType), events)
                }
                return try .init(beginning, biometryType, isContextMade: request.accessGroups != nil)
            },
            method(EnclaveInterface.EndEvaluation.self) { request in
                try host.change { enclave, _ in
                    enclave.endEvaluation(request.evaluation, request.code ?? .systemCancel)
                    return (Empty(), [])
                }
            },
            method(EnclaveInterface.SetShown.self) { request in
                try host.change { enclave, now in
                    guard let seconds = enclave.setShown(request.isShown, request.evaluation, now: now) else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (.init(touchesAfterSeconds: seconds), [])
                }
            },
            method(EnclaveInterface.ChooseFallback.self) { request in
                try host.change { enclave, now in
                    guard enclave.isEvaluating(request.evaluation) else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (Empty(), enclave.chooseFallback(now: now))
                }
            },
            method(EnclaveInterface.AnswerPermission.self) { request in
                try host.change { enclave, now in
                    guard enclave.isEvaluating(request.evaluation, in: .permission) else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (Empty(), try enclave.answerPermission(request.isAllowed, now: now))
                }
            },
            method(EnclaveInterface.TryAgain.self) { request in
                try host.change { enclave, now in
                    guard enclave.isEvaluating(request.evaluation, in: .retry) else {
                        throw EnclaveInterface.NoSuchEvaluation()
                    }
                    return (Empty(), enclave.tryAgain(now: now))
                }
            },
            method(EnclaveInterface.SubmitPasscode.self) { request in
                try host.derive(ticket: request.evaluation, by: .init(request.caller)) {
                    (enclave, now) throws(Enclave.Refused) in
                    try enclave.submitPasscode(request.passcode, evaluation: request.evaluation, now: now)
                }
                return Empty()
            },
            .deferred(EnclaveInterface.WatchEvents.self) { _, call in
                guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
                host.watch { call.continue(.init($0)) }
                call.connection.onClose { host.watch(nil) }
                call.continue(.init(outcome: .progress))
            },
        ]
    }

    private var settings: [VarlinkHandler] {
        [
            method(EnclaveInterface.GetNonce.self) { request in
                .init(
                    nonce: try host.change { enclave, _ in
                        (enclave.freshNonce(connection: request.connection ?? 0), [])
                    })
            },
            method(EnclaveInterface.EndConnection.self) { request in
                try host.change { enclave, _ in (enclave.endConnection(request.connection), []) }
                return Empty()
            },
            passcode(EnclaveInterface.ChangePasscode.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.changePasscode(
                    request.passcodes, kind: request.kind ?? .alphanumeric, connection: connection, now: now)
            },
            passcode(EnclaveInterface.Unlock.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.unlock(request.passcode, connection: connection, now: now)
            },
            passcode(EnclaveInterface.SetEraseData.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.setEraseData(request.isOn, request.passcode, connection: connection, now: now)
            },
            passcode(EnclaveInterface.ForgetReader.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.forgetReader(request.passcode, connection: connection, now: now)
            },
            passcode(EnclaveInterface.AddReader.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.addReader(
                    bus: request.bus, templates: request.templates, request.passcode, connection: connection, now: now)
            },
            passcode(EnclaveInterface.AcceptItems.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.acceptItems(request.look, request.passcode, connection: connection, now: now)
            },
            method(EnclaveInterface.Lock.self) { request in
                // A refusal is a result here: what the log says of it stays.
                try host.change {
                    $0.lockForProgram(
                        requiresPasscode: request.requiresPasscode ?? false, by: request.caller?.app, now: $1)
                }.get()
                return Empty()
            },
            method(EnclaveInterface.Enroll.self) { request in
                try checkFingersSimulated()
                return try host.change { enclave, _ in
                    try enclave.enroll(request.finger, sample: Sample(Data(request.finger.utf8)))
                    return (Empty(), [])
                }
            },
            method(EnclaveInterface.RemoveFinger.self) { request in
                try checkFingersSimulated()
                return try host.change { enclave, _ in
                    try enclave.removeFinger(request.finger)
                    return (Empty(), [])
                }
            },
            method(EnclaveInterface.ListFingers.self) { _ in
                .init(fingers: host.read { enclave, _ in enclave.fingers })
            },
            method(EnclaveInterface.ListFaceIDPermissions.self) { _ in
                .init(
                    permissions: host.read { enclave, _ in
                        enclave.faceIDPermissions.map { .init(app: $0.app, isAllowed: $0.isAllowed) }
                    })
            },
            method(EnclaveInterface.SetFaceIDPermission.self) { request in
                try host.change { enclave, now in
                    (Empty(), try enclave.setFaceIDPermission(request.isAllowed, of: request.app, now: now))
                }
            },
            method(EnclaveInterface.PresentFinger.self) { request in
                try checkFingersSimulated()
                // A finger that nobody can have enrolled: names are at least one byte long.
                return .init(touch: word(try host.touch(Sample(Data((request.finger ?? "").utf8)))))
            },
        ]
    }

    private var simulation: [VarlinkHandler] {
        [
            method(EnclaveInterface.SetSensorConnected.self) { request in
                try checkFingersSimulated()
                return try host.change { (Empty(), try $0.setSensorConnected(request.isConnected, now: $1)) }
            },
            method(EnclaveInterface.AdvanceClock.self) { request in
                // Where fingers are real, so are delays.
                try checkFingersSimulated()
                try host.advanceClock(by: request.seconds)
                return Empty()
            },
            method(EnclaveInterface.InspectClassKeys.self) { _ in
                try checkSimulated()
                return host.read { enclave, now in
                    let states = enclave.classKeyStates().map {
                        ($0.key.rawValue, word($0.value) as InspectorInterface.ClassKeyState)
                    }
                    return .init(
                        keys: .init(uniqueKeysWithValues: states),
                        wasUnlockedSinceBoot: enclave.facts(app: "", now: now).wasUnlockedSinceBoot)
                }
            },
            method(EnclaveInterface.InspectItems.self) { request in
                try checkSimulated()
                return host.read { enclave, now in
                    .init(
                        items: request.items.map { .init(enclave.prospect(of: .init($0), now: now)) },
                        privateKeys: request.privateKeys.map {
                            .init(enclave.prospect(ofPrivateKey: $0, now: now))
                        })
                }
            },
        ]
    }

    private var keys: [VarlinkHandler] {
        [
            method(EnclaveInterface.GetLookupKey.self) { _ in
                .init(key: host.read { enclave, _ in enclave.lookupKey().unprotectedCopy })
            },
            method(EnclaveInterface.GetMetadataKeys.self) { _ in
                .init(host.read { enclave, _ in enclave.metadataKeys() })
            },
            method(EnclaveInterface.ConfirmErasure.self) { _ in
                try host.change { enclave, _ in (enclave.confirmErasure(), []) }
                return Empty()
            },
            method(EnclaveInterface.CompareItems.self) { request in
                .init(
                    try host.compareItems(
                        request.items, isFirst: request.isFirst, isLast: request.isLast, takes: request.takes ?? false,
                        isPartial: request.isPartial ?? false))
            },
            method(EnclaveInterface.RecordItems.self) { request in
                .init(isRecorded: try host.recordItems(.init(request)))
            },
            method(EnclaveInterface.SettleItems.self) { _ in
                host.settleItems()
                return Empty()
            },
            method(EnclaveInterface.WrapKey.self) { request in
                // AC-50: what is enrolled when it is added.
                host.lookAtSensor(for: request.accessControl.requirement)
                let wrapped = try host.wrap(.init(request), spares: Enclave.ItemKey.spares(of: request))
                return .init(
                    wrappedKey: wrapped.wrappedKey, generation: Int(wrapped.generation),
                    spares: request.spares == nil ? nil : wrapped.spares)
            },
            method(EnclaveInterface.UnwrapKeys.self) { request in
                host.lookAtSensor(for: request.context)
                let opened = try host.unwrap(
                    request.items.map(Enclave.WrappedItem.init), app: request.app, context: request.context)
                return .init(items: opened.map { .init($0) })
            },
        ]
    }

    private var privateKeys: [VarlinkHandler] {
        [
            key(EnclaveInterface.CreateKey.self) { request in
                host.lookAtSensor(for: request.accessControl.requirement)
                return try host.createKey(.init(request))
            } reply: { (made: MadeKey) in
                .init(key: made.key, publicKey: made.publicKey)
            },
            method(EnclaveInterface.InspectKey.self) { request in
                let key = try host.inspectKey(request.key, accessGroups: request.accessGroups)
                return .init(
                    kind: word(key.kind), publicKey: key.publicKey, accessControl: key.accessControl,
                    accessGroup: key.accessGroup)
            },
            key(EnclaveInterface.Sign.self) { request in
                try host.sign(request.data, with: .init(request.use))
            } reply: { (signature: Data) in
                .init(signature: signature)
            },
            key(EnclaveInterface.ExchangeKeys.self) { request in
                try host.exchangeKeys(with: request.publicKey, .init(request.use), for: request.operation)
            } reply: { (secret: Data) in
                .init(sharedSecret: secret)
            },
            key(EnclaveInterface.SignMessage.self) { request in
                try host.signMessage(request.message, context: request.signatureContext, with: .init(request.use))
            } reply: { (signature: Data) in
                .init(signature: signature)
            },
            key(EnclaveInterface.Decapsulate.self) { request in
                try host.decapsulate(request.encapsulated, with: .init(request.use))
            } reply: { (secret: Data) in
                .init(sharedSecret: secret)
            },
        ]
    }

    private var logging: [VarlinkHandler] {
        [
            method(EnclaveInterface.ResumeLog.self) { request in
                host.resumeLog(newestLines: request.newestLines)
                return Empty()
            },
            method(EnclaveInterface.GetLogHead.self) { _ in .init(head: host.logHead()) },
            method(EnclaveInterface.CheckLog.self) { request in
                .init(genuine: host.checkLog(Array(request.lines.prefix(LogBatches<[String]>.maximumLines))))
            },
            method(EnclaveInterface.NoteObservation.self) { request in
                host.note(.init(request))
                return Empty()
            },
            method(EnclaveInterface.CloseLog.self) { _ in .init(head: host.closeLog()) },
        ]
    }

    private var backups: [VarlinkHandler] {
        [
            passcode(EnclaveInterface.AuthorizeBackup.self, by: \.caller) {
                (enclave, request, connection, now) throws(Enclave.Refused) in
                try enclave.authorizeBackup(request.direction, request.passcode, connection: connection, now: now)
            },
            method(EnclaveInterface.ExportKeys.self) { request in
                let keys = try host.change { enclave, now in
                    (try enclave.exportKeys(request.keys.map { .init($0) }, session: request.session, now: now), [])
                }
                host.note(.backupExported, keys)
                return .init(keys: keys.map { .init($0) })
            },
            method(EnclaveInterface.ImportKeys.self) { request in
                let keys = try host.change { enclave, now in
                    (try enclave.importKeys(request.keys.map { .init($0) }, session: request.session, now: now), [])
                }
                host.note(.backupImported, keys)
                return .init(keys: keys.map { .init($0) })
            },
            method(EnclaveInterface.EndBackup.self) { request in
                try host.change { enclave, _ in (enclave.endBackup(request.session), []) }
                return Empty()
            },
        ]
    }
}
