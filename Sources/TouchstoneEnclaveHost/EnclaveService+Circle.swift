import Foundation
import TouchstoneCircle
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveInterface
import TouchstoneTransport

/// The circle of devices that synchronize (SY-10 to SY-13).
extension EnclaveService {
    var circles: [VarlinkHandler] { changes + joining + records }

    private var changes: [VarlinkHandler] {
        [
            method(EnclaveInterface.GetCircle.self) { _ in
                .init(host.read { enclave, _ in enclave.circleFacts() })
            },
            change(EnclaveInterface.FoundCircle.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkFounding(named: request.name)
            },
            change(EnclaveInterface.ApproveApplicant.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkApproving(request.application, reveal: request.reveal)
            },
            change(EnclaveInterface.JoinCircle.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkJoining(request.links)
            },
            change(EnclaveInterface.RemoveMember.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkRemoving(
                    MemberID(hexadecimal: request.member) ?? MemberID(bytes: Data()), named: request.name,
                    lastCounter: UInt64(bitPattern: request.lastCounter))
            },
            change(EnclaveInterface.AddRecoveryKey.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkAddingRecoveryKey(
                    named: request.name, request.passcode, connection: Enclave.Caller(request.caller).connection)
            },
            change(EnclaveInterface.RecoverCircle.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkRecovering(
                    request.links, named: request.name, request.passcode,
                    connection: Enclave.Caller(request.caller).connection)
            },
            change(EnclaveInterface.AuthorizeHistory.self, { ($0.passcode, $0.caller) }) { enclave, request in
                try enclave.checkHistory(restoring: request.number)
            },
            method(EnclaveInterface.AddLinks.self) { request in
                .init(count: try host.change { enclave, _ in (try enclave.addLinks(request.links), []) })
            },
        ]
    }

    /// A method that looks at a passcode which was sealed for one change of the circle; refused before a guess is counted.
    private func change<M: VarlinkMethod>(
        _ method: M.Type,
        _ entry: @escaping @Sendable (M.Parameters) -> (passcode: SealedPasscode, caller: EnclaveInterface.Caller?),
        _ check: @escaping @Sendable (Enclave, M.Parameters) throws -> CircleChange
    ) -> VarlinkHandler where M.Reply == EnclaveInterface.Ticket {
        self.method(method) { request in
            let change = try host.read { enclave, _ in try check(enclave, request) }
            let ticket = host.random.identifier()
            let entry = entry(request)
            let caller = Enclave.Caller(entry.caller)
            try host.derive(ticket: ticket, by: caller) { (enclave, now) throws(Enclave.Refused) in
                try enclave.authorize(change, entry.passcode, connection: caller.connection, now: now)
            }
            return .init(ticket: ticket)
        }
    }

    private var joining: [VarlinkHandler] {
        [
            method(EnclaveInterface.ApplyToCircle.self) { request in
                .init(
                    application: try host.change { enclave, _ in
                        (try enclave.applyToCircle(named: request.name), [])
                    })
            },
            method(EnclaveInterface.ChallengeApplicant.self) { request in
                .init(
                    challenge: try host.change { enclave, _ in (try enclave.challenge(request.application), []) })
            },
            method(EnclaveInterface.RevealToCircle.self) { request in
                .init(reveal: try host.change { enclave, _ in (try enclave.reveal(to: request.challenge), []) })
            },
        ]
    }

    private var records: [VarlinkHandler] {
        [
            method(EnclaveInterface.SealRecords.self) { request in
                let requests = request.records.map { Enclave.RecordRequest($0) }
                return .init(records: host.read { enclave, _ in enclave.sealRecords(requests) }.map { .init($0) })
            },
            method(EnclaveInterface.OpenRecords.self) { request in
                .init(
                    records: host.read { enclave, now in enclave.openRecords(request.records, now: now) }
                        .map { .init($0) })
            },
            method(EnclaveInterface.SignHead.self) { request in
                .init(signed: host.read { enclave, _ in enclave.signHead(request.head) })
            },
        ]
    }
}

extension EnclaveInterface.GetCircle.Reply {
    fileprivate init(_ facts: Enclave.CircleFacts?) {
        self.init(
            member: facts?.member.description, links: facts?.links ?? [], proposed: facts?.proposed,
            keys: facts?.tagKeys.map { .init(names: $0.names, sums: $0.sums) })
    }
}

extension Enclave.RecordRequest {
    fileprivate init(_ request: EnclaveInterface.RecordRequest) {
        self.init(
            name: RecordName(bytes: request.name), counter: UInt64(bitPattern: request.counter),
            clock: ClockTime(bits: UInt64(bitPattern: request.clock)),
            item: request.item.map {
                .init(wrapped: .init($0.item), attributes: $0.attributes, secret: $0.secret)
            })
    }
}

extension EnclaveInterface.RecordReply {
    fileprivate init(_ verdict: Enclave.SealedVerdict) {
        switch verdict {
        case .sealed(let record): self.init(verdict: .sealed, record: record)
        case .locked: self.init(verdict: .locked)
        case .excluded: self.init(verdict: .excluded)
        case .gone: self.init(verdict: .gone)
        }
    }
}

extension EnclaveInterface.OpenedRecord {
    fileprivate init(_ verdict: Enclave.OpenedVerdict) {
        switch verdict {
        case .item(let opened):
            self.init(
                verdict: .item,
                item: .init(
                    wrappedKey: opened.wrapped.wrappedKey,
                    binding: .init(
                        accessGroup: opened.wrapped.binding.accessGroup, item: opened.wrapped.binding.item)),
                protection: opened.protection, attributes: opened.attributes)
        case .tombstone: self.init(verdict: .tombstone)
        case .locked: self.init(verdict: .locked)
        case .waiting: self.init(verdict: .waiting)
        case .forged: self.init(verdict: .forged)
        case .notMember: self.init(verdict: .notMember)
        }
    }
}
