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
    /// What the owner proved for the one request that a token is good for; the enclave ends it after 30 seconds (FD-56).
    private let held = Mutex<Proof?>(nil)

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

    func update(_ credential: Credential) throws(CTAPStatus) {
        do throws(BridgeFailure) { try store.update(credential) } catch { throw CTAPStatus(error) }
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
        struct Environment: Decodable { var isBiometryUsable: Bool; var isPasscodeUsable: Bool }
        var environment: Environment
    }

    private enum Flags {
        static let passcode = 16
        static let signing = 1 << 30 | CredentialStore.userPresence
    }

    func ask(_ wish: Wish) throws(CTAPStatus) {
        _ = try approve(wish) { _ throws(DeviceError) in }
    }

    func canVerify() throws(CTAPStatus) -> Bool {
        do throws(DeviceError) {
            let connection = try device.connect()
            defer { connection.close() }
            return try connection.call("Authentication.GetEnvironment", Nothing(), EnvironmentReply.self)
                .environment.isPasscodeUsable
        } catch {
            throw CTAPStatus(BridgeFailure(error))
        }
    }

    func hold(_ wish: Wish) throws(CTAPStatus) {
        // Who wants a token is told of misses in CTAP's own words (DEC-520).
        let proof = try approve(wish, misses: .uvInvalid) { proof throws(DeviceError) in proof }
        release()
        held.withLock { $0 = proof }
    }

    func release() {
        let proof = held.withLock { held in
            defer { held = nil }
            return held
        }
        proof?.connection.close()
    }

    func makeKey(
        _ consent: Consent, _ message: @escaping @Sendable (Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey {
        try judged(consent) { proof throws(DeviceError) -> Result<NewKey, CTAPStatus> in
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
        _ consent: Consent, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])] {
        typealias Results = [(message: AuthenticatorMessage, signature: [UInt8])]
        let store = store
        return try judged(consent) { proof throws(DeviceError) -> Result<Results, CTAPStatus> in
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

    /// Runs what needs a judgement: the owner is asked, or what was proven for a token is used once.
    private func judged<Value: Sendable>(
        _ consent: Consent, _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(CTAPStatus) -> Value {
        guard case .ask(let wish) = consent else {
            guard let proof = held.withLock({ $0 }) else { throw .pinAuthInvalid }
            defer { release() }
            do throws(DeviceError) { return try operation(proof) } catch {
                BridgeProcess.log("touchstone-fido: a token was not good any more: \(BridgeFailure(error))")
                // The device was locked meanwhile, or the time is over: the enclave says so.
                throw .pinAuthInvalid
            }
        }
        return try approve(wish, operation)
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

    /// The passcode alone, where the sensor does not count as biometry, the program was started so (FD-31), or something is removed (FD-17).
    private func flags(_ wish: Wish, _ proof: Proof) throws(DeviceError) -> Int {
        guard !isStrict else { return Flags.passcode }
        if case .delete = wish { return Flags.passcode }
        let reply = try proof.call("Authentication.GetEnvironment", Nothing(), EnvironmentReply.self)
        return reply.environment.isBiometryUsable ? CredentialStore.userPresence : Flags.passcode
    }

    /// Longest wait for the owner, in seconds.
    private static let patience = 30.0

    /// Has the owner judged for a wish, and runs what wanted it.
    private func approve<Value: Sendable>(
        _ wish: Wish, misses: CTAPStatus = .operationDenied,
        _ operation: @escaping @Sendable (Proof) throws(DeviceError) -> Value
    ) throws(CTAPStatus) -> Value {
        var request = ApprovalRequest(wish)
        request.longest = Self.patience
        request.unlock = Self.patience
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        asking.store(true, ordering: .relaxed)
        defer { asking.store(false, ordering: .relaxed) }
        do throws(BridgeFailure) {
            return try approvals.perform(request, while: { !self.isCancelled.load(ordering: .relaxed) }) {
                proof throws(DeviceError) in
                try Self.evaluate(proof, try self.flags(wish, proof))
                return try operation(proof)
            }
        } catch {
            BridgeProcess.log("touchstone-fido: a request was not approved: \(error)")
            // Nobody answered in time, or nobody can be asked at all.
            if error == .unavailable, .now >= deadline { throw .userActionTimeout }
            if error == .denied { throw misses }
            throw CTAPStatus(error)
        }
    }

    // MARK: The owner's own commands

    /// Removes a passkey once its owner has given the passcode (FD-17).
    func remove(_ id: Data, asking client: Client, while isWaitedOn: @escaping @Sendable () -> Bool)
        throws(BridgeFailure)
    {
        guard let credential = try store.all().first(where: { $0.id == id }) else { throw .gone }
        var request = ApprovalRequest(.delete(site: credential.site, account: credential.account))
        request.client = client
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
