import BridgeCore
import CTAP
import Foundation
import Synchronization
import TouchstoneDevice

/// The owner's device: keeps credentials, and has the enclave judge its owner before anything is signed (FD-30…35).
final class Owner: CredentialDevice {
    private let device: Device
    private let store: CredentialStore
    private let approvals: Approvals
    private let isStrict: Bool
    /// Whether nobody waits for the answer any more (FD-7).
    private let isCancelled = Atomic(false)
    private let asking = Atomic(false)

    /// - Parameters:
    ///   - device: Which one.
    ///   - isStrict: Whether only the passcode counts.
    init(device: Device, isStrict: Bool) {
        self.device = device
        self.isStrict = isStrict
        store = CredentialStore(device: device)
        approvals = Approvals(device: device)
    }

    /// Whether the owner is being asked.
    var isAsking: Bool { asking.load(ordering: .relaxed) }

    /// A request begins.
    func begin() { isCancelled.store(false, ordering: .relaxed) }

    /// Nobody waits for it any more.
    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    // MARK: Credentials

    func credentials() throws(CTAPStatus) -> [Credential] {
        do throws(BridgeFailure) { return try store.all() } catch { throw CTAPStatus(error) }
    }

    func keep(_ credential: Credential, secret: [UInt8]?) throws(CTAPStatus) {
        do throws(BridgeFailure) { try store.add(credential, secret: secret) } catch { throw CTAPStatus(error) }
    }

    func remove(_ credential: Credential) throws(CTAPStatus) {
        do throws(BridgeFailure) { try store.remove(credential.id) } catch { throw CTAPStatus(error) }
    }

    // MARK: Asking

    private struct AccessControl: Encodable { var protection = CredentialStore.protection; var flags: Int }
    private struct Evaluation: Encodable {
        var context: String
        var accessControl: AccessControl
        /// To use an item.
        var operation = 1
        var options: AskingOptions?
    }
    private struct Creation: Encodable { var kind = "p256"; var accessControl: AccessControl }
    private struct Created: Decodable { var key: Data; var publicKey: Data }
    private struct EnvironmentReply: Decodable {
        struct Environment: Decodable { var isBiometryUsable: Bool }
        var environment: Environment
    }

    private enum Flags {
        static let passcode = 16
        static let signing = 1 << 30 | CredentialStore.userPresence
    }

    func ask(_ wish: Wish) throws(CTAPStatus) {
        _ = try approve(wish) { proof throws(DeviceError) in
            try Self.evaluate(proof, try self.flags(proof))
        }
    }

    func makeKey(
        _ wish: Wish, _ message: @escaping @Sendable (Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey {
        try approve(wish) { proof throws(DeviceError) -> Result<NewKey, CTAPStatus> in
            try Self.evaluate(proof, try self.flags(proof))
            let made = try proof.call(
                "Key.Create", Creation(accessControl: AccessControl(flags: Flags.signing)), Created.self)
            return try Self.outcome { () throws(CTAPStatus) in
                try message(made.publicKey)
            } then: {
                message throws(DeviceError) in
                NewKey(
                    key: made.key, publicKey: made.publicKey, message: message,
                    signature: try Self.sign(message, made.key, proof))
            }
        }.get()
    }

    func sign(
        _ wish: Wish, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])] {
        typealias Results = [(message: AuthenticatorMessage, signature: [UInt8])]
        let store = store
        return try approve(wish) { proof throws(DeviceError) -> Result<Results, CTAPStatus> in
            try Self.evaluate(proof, try self.flags(proof))
            var results: Results = []
            for credential in credentials {
                let secret =
                    withSecrets ? try store.secret(of: credential, proof.askingNobody) : nil
                let result = try Self.outcome { () throws(CTAPStatus) in
                    try message(credential, secret)
                } then: {
                    message throws(DeviceError) in
                    (message, try Self.sign(message, credential.key, proof))
                }
                switch result {
                case .success(let signed): results.append(signed)
                case .failure(let status): return .failure(status)
                }
            }
            return .success(results)
        }.get()
    }

    private static func outcome<Message, Value>(
        _ message: () throws(CTAPStatus) -> Message, then: (Message) throws(DeviceError) -> Value
    ) throws(DeviceError) -> Result<Value, CTAPStatus> {
        let made: Message
        do throws(CTAPStatus) { made = try message() } catch { return .failure(error) }
        return .success(try then(made))
    }

    /// The judgement for this request: in a context of its own, which ends with it.
    private static func evaluate(_ proof: Proof, _ flags: Int) throws(DeviceError) {
        _ = try proof.call(
            "Authentication.EvaluateAccessControl",
            Evaluation(context: proof.context, accessControl: AccessControl(flags: flags), options: proof.options),
            Judged.self)
    }

    private struct Judged: Decodable {}

    /// The enclave signs, because the context has just proven its owner; it would not without.
    private static func sign(_ message: AuthenticatorMessage, _ key: Data, _ proof: Proof) throws(DeviceError)
        -> [UInt8]
    {
        Array(try proof.askingNobody.sign(Data(message.digest), with: key, label: "passkey"))
    }

    /// The passcode alone, where the sensor does not count as biometry or the program was started so (FD-31).
    private func flags(_ proof: Proof) throws(DeviceError) -> Int {
        guard !isStrict else { return Flags.passcode }
        let reply = try proof.call("Authentication.GetEnvironment", Nothing(), EnvironmentReply.self)
        return reply.environment.isBiometryUsable ? CredentialStore.userPresence : Flags.passcode
    }

    /// Longest wait for the owner, in seconds.
    private static let patience = 30.0

    private func approve<Value: Sendable>(
        _ wish: Wish, _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(CTAPStatus) -> Value {
        var request = Self.request(wish)
        request.longest = Self.patience
        request.unlock = Self.patience
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        asking.store(true, ordering: .relaxed)
        defer { asking.store(false, ordering: .relaxed) }
        do throws(BridgeFailure) {
            return try approvals.perform(request, while: { !self.isCancelled.load(ordering: .relaxed) }, operation)
        } catch {
            BridgeProcess.log("touchstone-fido: a request was not approved: \(error)")
            // Nobody answered in time, or nobody can be asked at all.
            if error == .unavailable, .now >= deadline { throw .userActionTimeout }
            throw CTAPStatus(error)
        }
    }

    /// What the owner reads: the site and the account are words of a program that nobody knows (FD-5, FD-35).
    private static func request(_ wish: Wish) -> ApprovalRequest {
        func quoted(_ text: String) -> String { "“\(Sentence.short(text))”" }
        let (item, purpose, reason): (String, String, String) =
            switch wish {
            case .create(let site, _, let replaces):
                (
                    site, "create a passkey",
                    "create a passkey for \(quoted(site))\(replaces ? ", in place of the one of this account" : "")"
                )
            case .signIn(let site, _): (site, "sign in", "sign you in to \(quoted(site))")
            case .alreadyHere(let site):
                (site, "say what is here", "say that a passkey for \(quoted(site)) is on this computer already")
            case .choose: ("", "choose", "use the passkeys of this computer")
            }
        var facts: [Fact] = []
        func say(_ kind: Fact.Kind, _ text: String) { facts.append(Fact(kind, "“\(Sentence.printable(text))”")) }
        switch wish {
        case .create(let site, let account, _):
            say(.site, site)
            if let account { say(.account, account) }
        case .signIn(let site, let accounts):
            say(.site, site)
            // As many as are read at a glance.
            for account in accounts.prefix(5) { say(.account, account) }
        case .alreadyHere(let site): say(.site, site)
        case .choose: break
        }
        var request = ApprovalRequest(
            client: .unknown, item: item, purpose: purpose, destination: nil, reason: reason, facts: facts)
        request.stranger = " for a program on this computer (browsers do this)"
        return request
    }

    // MARK: The owner's own commands

    /// Removes a passkey once its owner has given the passcode (FD-17).
    func remove(_ id: Data, asking client: Client, while isWaitedOn: @escaping @Sendable () -> Bool)
        throws(BridgeFailure)
    {
        guard let credential = try store.all().first(where: { $0.id == id }) else { throw .gone }
        let site = Sentence.short(credential.site)
        var request = ApprovalRequest(
            client: client, item: "remove", purpose: "remove", destination: nil,
            reason: "delete the passkey for “\(site)” for ever",
            facts: [Fact(.site, "“\(Sentence.printable(credential.site))”")]
                + (credential.account.map { [Fact(.account, "“\(Sentence.printable($0))”")] } ?? []))
        request.unlock = 60
        try approvals.perform(request, while: isWaitedOn) { proof throws(DeviceError) in
            try Self.evaluate(proof, Flags.passcode)
        }
        try store.remove(id)
    }

    /// All passkeys, for their owner to read.
    func list() throws(BridgeFailure) -> [Credential] { try store.all() }
}

extension CTAPStatus {
    /// What clients hear (BR-40).
    init(_ failure: BridgeFailure) {
        self =
            switch failure {
            // After misses, too: Chromium ends a request for this status, and waits on after one that it does not know.
            case .cancelled, .busy, .displaced, .denied: .operationDenied
            case .locked: .userActionTimeout
            case .unavailable: .other
            case .gone: .noCredentials
            case .invalid: .invalidParameter
            case .clientGone: .keepAliveCancel
            }
    }
}
