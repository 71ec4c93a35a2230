import Foundation
import GRDB
import TouchstoneCircle
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
package import TouchstoneTransport

/// `io.touchstone.Sync`: sealed objects for a store, and the owner's changes of the circle (SY-11, SY-32).
package final class SyncService: Sendable {
    let enclave: EnclaveClient
    let synchronizer: Synchronizer
    private let nonces: ConnectionNonces
    private let ownerID: UInt32

    package init(store: KeychainStore, keychain: KeychainService, enclave: EnclaveClient, ownerID: UInt32) {
        self.enclave = enclave
        self.ownerID = ownerID
        nonces = ConnectionNonces(enclave)
        synchronizer = Synchronizer(store: store, enclave: enclave, keychain: keychain, now: keychain.now)
    }

    /// To be called whenever the device was locked, unlocked or erased, or its passcode changed.
    package func keysChanged() { synchronizer.refresh() }

    package var interface: VarlinkInterface {
        VarlinkInterface(
            name: SyncInterface.name, description: SyncInterface.file, ownerID: ownerID,
            handlers: carrying + changing + history + joining,
            refusal: { $0.reason == .notOwner ? SyncInterface.NotOwner() as any VarlinkError : $0 })
    }

    /// A method on the connection's own thread: all of them wait for the disk, and for the enclave.
    private func owner<M: VarlinkMethod>(
        _ method: M.Type, _ body: @escaping @Sendable (M.Parameters, IsOwner) throws -> M.Reply
    ) -> OwnerHandler {
        .deferred(method) { [self] request, call, owner in
            call.answer(Result { try reporting { try body(request, owner) } })
        }
    }

    private func reporting<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch is Synchronizer.NoCircle {
            throw SyncInterface.NoCircle()
        } catch let status as Status {
            throw SyncInterface.Failed(status: status.rawValue)
        } catch let error as DatabaseError {
            throw SyncInterface.Failed(status: Status(error).rawValue)
        } catch let error as RemoteError {
            throw Self.told(error)
        } catch is TransportError {
            throw SyncInterface.Failed(status: Status.notAvailable.rawValue)
        }
    }

    /// The enclave's refusal in the words of this interface.
    private static func told(_ error: RemoteError) -> any Error {
        if let refused = error.as(EnclaveInterface.CircleRefused.self) {
            guard let reason = SyncInterface.Reason(rawValue: refused.reason.rawValue) else {
                return SyncInterface.NoCircle()
            }
            return SyncInterface.Refused(reason: reason)
        }
        if let refused = error.as(DeviceInterface.Refused.self) {
            return SyncInterface.Refused(reason: reason(refused.reason))
        }
        if error.as(EnclaveInterface.NotKept.self) != nil {
            return SyncInterface.Failed(status: Status.diskFull.rawValue)
        }
        return error
    }

    private static func reason(_ reason: DeviceInterface.RefusalReason) -> SyncInterface.Reason {
        switch reason {
        case .passcodeNotSet: .passcodeNotSet
        case .locked: .locked
        case .staleNonce, .staleKey: .staleNonce
        case .unreadablePasscode, .passcodeTooLong: .unreadablePasscode
        default: .busy
        }
    }

    // MARK: carrying

    private var carrying: [OwnerHandler] {
        [
            owner(SyncInterface.ListObjects.self) { [self] request, _ in try synchronizer.list(after: request.after) },
            owner(SyncInterface.AddObjects.self) { [self] request, _ in
                guard request.objects.count <= Synchronizer.Limits.objects else { throw Status.param }
                return .init(verdicts: try synchronizer.take(request.objects))
            },
            owner(SyncInterface.ListLinks.self) { [self] request, _ in
                .init(links: try synchronizer.links(after: request.after))
            },
            owner(SyncInterface.AddLinks.self) { [self] request, _ in
                let reply = try enclave.call(EnclaveInterface.AddLinks.self, .init(links: request.links))
                synchronizer.refreshNow()
                return .init(count: reply.count)
            },
            .deferred(SyncInterface.Monitor.self, wantsMore: true) { [self] _, call, _ in monitor(call) },
            owner(SyncInterface.GetStatus.self) { [self] _, _ in synchronizer.status() },
        ]
    }

    private func monitor(_ call: VarlinkCall<SyncInterface.Monitor>) {
        guard synchronizer.hasCircle else { return call.fail(SyncInterface.NoCircle()) }
        let key = ObjectIdentifier(call.connection)
        let isTaken = synchronizer.watch(key) { next, count in
            guard call.connection.isReading else { return call.drop() }
            call.continue(.init(next: next, count: count))
        } ended: {
            call.fail(SyncInterface.NoCircle())
        }
        guard isTaken else { return call.fail(SyncInterface.Refused(reason: .busy)) }
        call.connection.onClose { [weak self] in self?.synchronizer.unwatch(key) }
    }

    // MARK: the owner's changes

    private var changing: [OwnerHandler] {
        [
            .method(SyncInterface.GetNonce.self) { [self] _, connection, owner in
                try reporting { .init(nonce: try nonces.fresh(for: connection, owner).nonce) }
            },
            .deferred(SyncInterface.Found.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.FoundCircle.self,
                        .init(name: request.name, passcode: request.passcode, caller: $0))
                }
            },
            .deferred(SyncInterface.Approve.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.ApproveApplicant.self,
                        .init(
                            application: request.application, reveal: request.reveal, passcode: request.passcode,
                            caller: $0))
                }
            },
            .deferred(SyncInterface.Join.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.JoinCircle.self,
                        .init(links: request.links, passcode: request.passcode, caller: $0))
                }
            },
            .deferred(SyncInterface.Remove.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.RemoveMember.self,
                        .init(
                            member: request.member, name: request.name,
                            lastCounter: try synchronizer.newestCounter(of: request.member),
                            passcode: request.passcode, caller: $0))
                }
            },
            .deferred(SyncInterface.AddRecoveryKey.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.AddRecoveryKey.self,
                        .init(name: request.name, passcode: request.passcode, caller: $0))
                }
            },
            .deferred(SyncInterface.Recover.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.RecoverCircle.self,
                        .init(links: request.links, name: request.name, passcode: request.passcode, caller: $0))
                }
            },
        ]
    }

    /// What other devices' changes replaced (SY-20).
    private var history: [OwnerHandler] {
        [
            .deferred(SyncInterface.ListReplaced.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.AuthorizeHistory.self, .init(passcode: request.passcode, caller: $0))
                } reply: { [self] in
                    .init(versions: try synchronizer.replacedVersions())
                }
            },
            .deferred(SyncInterface.Restore.self) { [self] request, call, _ in
                redeem(call) {
                    try enclave.call(
                        EnclaveInterface.AuthorizeHistory.self,
                        .init(number: request.number, passcode: request.passcode, caller: $0))
                } reply: { [self] in
                    try synchronizer.restore(request.number)
                    return Empty()
                }
            },
        ]
    }

    private var joining: [OwnerHandler] {
        [
            owner(SyncInterface.Apply.self) { [self] request, _ in
                .init(
                    application: try enclave.call(EnclaveInterface.ApplyToCircle.self, .init(name: request.name))
                        .application)
            },
            owner(SyncInterface.Challenge.self) { [self] request, _ in
                .init(
                    challenge: try enclave.call(
                        EnclaveInterface.ChallengeApplicant.self, .init(application: request.application)
                    ).challenge)
            },
            owner(SyncInterface.Reveal.self) { [self] request, _ in
                .init(
                    reveal: try enclave.call(
                        EnclaveInterface.RevealToCircle.self, .init(challenge: request.challenge)
                    ).reveal)
            },
        ]
    }

    /// Answers a call once the enclave has judged its passcode, and the circle is as it made it.
    private func redeem<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ begin: (EnclaveInterface.Caller) throws -> EnclaveInterface.Ticket
    ) where M.Reply == Empty {
        redeem(call, begin) { [self] in
            synchronizer.refreshNow()
            return Empty()
        }
    }

    /// Answers a call with `reply`, once the enclave has judged its passcode.
    private func redeem<M: VarlinkMethod>(
        _ call: VarlinkCall<M>, _ begin: (EnclaveInterface.Caller) throws -> EnclaveInterface.Ticket,
        reply: @escaping @Sendable () throws -> M.Reply
    ) {
        do {
            try reporting {
                _ = try enclave.awaitAnswer {
                    try begin(
                        .init(
                            connection: call.connection.number,
                            app: (try? call.connection.identity())?.identifier)
                    ).ticket
                } _: { [self] event in
                    guard let event else { return call.fail(SyncInterface.Refused(reason: .busy)) }
                    if event.outcome == .succeeded {
                        // Not here, where all apps' answers come from the enclave.
                        call.connection.perform { [self] in
                            call.answer(Result { try reporting(reply) })
                        }
                    } else if let refusal = event.refusal {
                        call.fail(SyncInterface.Refused(reason: Self.reason(refusal)))
                    } else {
                        call.fail(rejection(event.retryAfterSeconds))
                    }
                }
            }
        } catch let refused as SyncInterface.Refused where refused.reason == .busy {
            // A passcode that is not looked at because of the delay is told as one that was rejected, with the time.
            let rejection = rejection(nil)
            call.answer(.failure(rejection.retryAfterSeconds > 0 ? rejection : refused))
        } catch {
            call.answer(.failure(error))
        }
    }

    private func rejection(_ seconds: Double?) -> SyncInterface.PasscodeRejected {
        let facts = try? enclave.call(EnclaveInterface.GetFacts.self, .init(app: "")).facts
        return .init(
            failures: facts?.passcodeFailures ?? 0,
            retryAfterSeconds: seconds ?? facts?.passcodeRetryAfterSeconds ?? 0)
    }
}
