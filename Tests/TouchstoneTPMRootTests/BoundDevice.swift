import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneFileRoot
import TouchstoneMemory
import TouchstoneSystem
import TouchstoneTransport

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost
@testable import TouchstoneTPMRoot

/// A device in a directory, on a root of trust of either kind.
final class BoundDevice {
    enum Kind: CaseIterable { case keyFile, tpm }
    /// Where P-256 keys of apps are.
    enum Keys: CaseIterable { case keyFile, tpm, inTPM }
    enum Verdict: Equatable {
        case right, wrong
        case refused(Enclave.RefusalReason)
    }

    struct StandingClock: TimeSource { let now = 1000.0 }

    private final class Events: Sendable {
        let condition = NSCondition()
        let all = Mutex<[EnclaveEvent]>([])
    }

    private final class Reports: Sendable { let lines = Mutex<[String]>([]) }

    let directory: URL
    let recoveryKey = RecoveryKey()
    /// Held for as long as the device is on, and from its creation to its first boot: swtpm serves one at a time.
    private var held: (any RootOfTrust)?
    var root: any RootOfTrust { get throws { try #require(held) } }
    private(set) var host: EnclaveHost?
    private var events = Events()
    private let reported = Reports()
    var reports: [String] { reported.lines.withLock { $0 } }
    private var tickets = 0
    private var files: EnclaveFiles { EnclaveFiles(directory) }

    /// - address: of a TPM; nil: a key file.
    init(in directory: URL, address: String?, areKeysHeld: Bool = false) throws {
        self.directory = directory
        let files = EnclaveFiles(directory)
        if let address {
            let tpm = try TPMRoot.create(PrivateFile(files.rootTPM), address: address, recoveryKey: recoveryKey)
            held = tpm
            try PrivateFile(files.state).replace(
                Enclave.create(
                    isSimulated: true, biometryType: .touchID, root: tpm, revision: tpm.read(),
                    recoveryKey: recoveryKey.privateKey.publicKey.rawRepresentation, areKeysHeld: areKeysHeld))
        } else {
            try FileRoot.create(files.rootKey)
            let root = try FileRoot(files.rootKey)
            held = root
            try PrivateFile(files.state).replace(Enclave.create(isSimulated: true, biometryType: .touchID, root: root))
        }
    }

    static func root(in directory: URL) throws -> any RootOfTrust {
        let files = EnclaveFiles(directory)
        guard try PrivateFile(files.rootTPM).load() != nil else { return try FileRoot(files.rootKey) }
        return try TPMRoot(PrivateFile(files.rootTPM))
    }

    func turnOff() {
        host?.watch(nil)
        // As the program does at its end.
        host?.settle()
        host = nil
        held = nil
    }

    /// Also after it was on: everything that is not on the disk or in the TPM is forgotten.
    func boot() throws {
        turnOff()
        events = Events()
        let root = try Self.root(in: directory)
        held = root
        let host = try EnclaveHost(
            storage: PrivateFile(files.state), root: root, clock: StandingClock(),
            counter: root as? any RevisionCounter,
            newPasscodeCost: { .minimum }, report: { [reported] line in reported.lines.withLock { $0.append(line) } })
        host.watch { [events] event in
            events.condition.lock()
            events.all.withLock { $0.append(event) }
            events.condition.broadcast()
            events.condition.unlock()
        }
        self.host = host
    }

    var isPasscodeSet: Bool { get throws { try #require(host).read { enclave, _ in enclave.isPasscodeSet } } }
    var failures: Int { get throws { try #require(host).read { enclave, _ in enclave.state.passcodeFailures } } }

    /// Seconds until the next passcode is looked at; nil: now.
    var retryAfter: Double? { get throws { try #require(host).read { $0.passcodeRetryAfter(now: $1) } } }

    /// As the state has it.
    var passcode: EnclaveState.Passcode {
        get throws {
            let running = try #require(host)
            return try #require(running.read { enclave, _ in enclave.state.passcode })
        }
    }

    /// Begins a guess that `end` waits for.
    func beginUnlock(_ passcode: String) throws -> String {
        let entry = try seal([passcode], for: .unlock)
        return try begin { (enclave, now) throws(Enclave.Refused) in try enclave.unlock(entry, now: now) }
    }

    func unlock(_ passcode: String) throws -> Verdict {
        let entry = try seal([passcode], for: .unlock)
        return try verdict { (enclave, now) throws(Enclave.Refused) in try enclave.unlock(entry, now: now) }
    }

    func change(from current: String, to new: String) throws -> Verdict {
        let entry = try seal([current, new], for: .change)
        return try verdict { (enclave, now) throws(Enclave.Refused) in
            try enclave.changePasscode(entry, now: now)
        }
    }

    /// A private key, which wants nobody where nothing else is said.
    func createKey(
        _ flags: AccessControl.Flags = .privateKeyUsage, _ protection: Accessibility = .afterFirstUnlock,
        kind: KeyKind = .p256, group: AccessGroup = "group", context: String? = nil
    ) throws -> MadeKey {
        let host = try #require(host)
        let creation = Enclave.KeyCreation(
            kind: kind, accessControl: try .init(protection: protection, flags: flags), accessGroup: group, app: "app",
            context: context)
        switch try product(of: host.createKey(creation), KeyProduct.made) {
        case .made(let made): return made
        case let other: throw Unexpected(product: other)
        }
    }

    static let digest = Data(SHA256.hash(data: Data("data".utf8)))

    /// Of the digest, r and s.
    func signature(
        by key: Data, of digest: Data = digest, groups: [AccessGroup] = ["group"], context: String? = nil
    ) throws -> Data {
        let host = try #require(host)
        let request = Enclave.KeyRequest(key: key, app: "app", accessGroups: groups, context: context)
        switch try product(of: host.sign(digest, with: request), KeyProduct.signature) {
        case .signature(let signature): return signature
        case let other: throw Unexpected(product: other)
        }
    }

    func sharedSecret(of key: Data, and point: Data) throws -> Data {
        let host = try #require(host)
        let request = Enclave.KeyRequest(key: key, app: "app", accessGroups: ["group"])
        let answer = try host.exchangeKeys(with: point, request, for: .useKeyKeyExchange)
        switch try product(of: answer, KeyProduct.sharedSecret) {
        case .sharedSecret(let secret): return secret
        case let other: throw Unexpected(product: other)
        }
    }

    private struct Unexpected: Error { let product: KeyProduct }

    /// What is answered at once, or later.
    private func product<Product>(
        of answer: KeyAnswer<Product>, _ product: (Product) -> KeyProduct
    ) throws -> KeyProduct {
        switch answer {
        case .done(let done): return product(done)
        case .later(let ticket):
            switch try event(of: ticket) {
            case .keyUsed(let product): return product
            case .keyRefused(let refusal): throw refusal
            case let other: throw Failed(answer: other)
            }
        }
    }

    private struct Failed: Error { let answer: EnclaveEvent.Answer }

    private func seal(_ passcodes: [String], for purpose: SealedPasscode.Purpose) throws -> SealedPasscode {
        let host = try #require(host)
        let nonce = try host.change { enclave, _ in (enclave.freshNonce(), []) }
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: host.passcodePublicKey()),
            ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info)
        let ciphertext = try sender.seal(
            SealedPasscode.payload(passcodes.map(\.utf8)), authenticating: SealedPasscode.context(purpose, nonce: nonce)
        )
        return SealedPasscode(encapsulatedKey: Data(sender.encapsulatedKey), ciphertext: Data(ciphertext))
    }

    private func verdict(_ begin: (inout Enclave, Double) throws(Enclave.Refused) -> PasscodeJob) throws
        -> Verdict
    {
        do {
            return try end(of: self.begin(begin))
        } catch let refused as Enclave.Refused {
            return .refused(refused.reason)
        }
    }

    private func begin(_ job: (inout Enclave, Double) throws(Enclave.Refused) -> PasscodeJob) throws -> String {
        tickets += 1
        let ticket = "ticket \(tickets)"
        try #require(host).derive(ticket: ticket, job)
        return ticket
    }

    func end(of ticket: String) throws -> Verdict {
        switch try event(of: ticket) {
        case .done, .keyUsed: .right
        case .refused(let reason): .refused(reason)
        case .rejected, .failed, .keyRefused: .wrong
        }
    }

    private func event(of ticket: String) throws -> EnclaveEvent.Answer {
        let limit = Date(timeIntervalSinceNow: 300)
        events.condition.lock()
        defer { events.condition.unlock() }
        while true {
            for case .answered(ticket, let answer) in events.all.withLock(\.self) { return answer }
            try #require(events.condition.wait(until: limit), "no answer came")
        }
    }
}

extension SecretBytes {
    /// For comparisons.
    var bytes: Data { withUnsafeBytes { Data($0) } }
}
