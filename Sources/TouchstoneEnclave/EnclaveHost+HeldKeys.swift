import Foundation
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneMemory

/// What the root of trust's hardware does with its keys, as results for apps.
struct HeldKeyWork: Sendable {
    let holder: any KeyHolder

    func signature(of digest: Data, by key: HeldKey) throws -> EnclaveInterface.KeyResult {
        guard digest.count == Self.digestBytes else { throw KeyInterface.Failed(.param) }
        return .init(signature: try holder.signature(of: digest, by: key.key, with: key.value))
    }

    func sharedSecret(with point: Data, by key: HeldKey) throws -> EnclaveInterface.KeyResult {
        // The hardware has its own error for a point that is not on the curve; here it is the same as for a key in memory.
        guard PrivateKey.isPoint(point) else { throw KeyInterface.Failed(.param) }
        return .init(sharedSecret: try holder.sharedSecret(of: key.key, and: point, with: key.value).publicBytes)
    }

    func makeKey() throws -> PrivateKey {
        let value = SecretBytes.random(count: HeldKey.valueBytes)
        let made = try holder.makeKey(under: value)
        return .held(HeldKey(value: value, key: made.key), publicKey: made.publicKey)
    }

    private static let digestBytes = 32
}

extension EnclaveHost {
    /// Makes a private key.
    ///
    /// - Throws: `EnclaveInterface.Deferred` where the hardware makes it; the errors of `io.touchstone.Key`.
    func createKey(_ request: EnclaveInterface.CreateKey.Parameters) throws -> KeyInterface.Create.Reply {
        guard request.kind == .p256, read({ enclave, _ in enclave.state.areKeysHeld == true }) else {
            let reply = try notingRefusal(of: request.app) {
                try read { enclave, _ in try enclave.createKey(request) }
            }
            note([LogFact(keyCreated: request)])
            return reply
        }
        // What is refused is refused before the hardware is asked: for a key that is thrown away.
        let nobody = PrivateKey.held(HeldKey(value: SecretBytes([0]), key: Data()), publicKey: Data())
        _ = try notingRefusal(of: request.app) {
            try read { enclave, _ in try enclave.createKey(request, made: nobody) }
        }
        throw try later { [self] work in
            let key = try work.makeKey()
            let reply = try read { enclave, _ in try enclave.createKey(request, made: key) }
            note([LogFact(keyCreated: request)])
            return .init(key: reply.key, publicKey: reply.publicKey)
        }
    }

    /// Has the hardware do something on a queue of its own; what comes of it is told by an event with the ticket of what is returned.
    ///
    /// - Throws: `KeyInterface.Failed` where there is no such hardware, or too many wait.
    func later(
        noting fact: LogFact? = nil, _ work: @escaping @Sendable (HeldKeyWork) throws -> EnclaveInterface.KeyResult
    ) throws -> EnclaveInterface.Deferred {
        guard let holder = read({ enclave, _ in enclave.root.keyHolder }), beginHeldKeyJob() else {
            throw KeyInterface.Failed(.notAvailable)
        }
        let ticket = Enclave.freshIdentifier()
        heldKeys.async { [self] in
            let result: EnclaveInterface.KeyResult
            do {
                result = try work(HeldKeyWork(holder: holder))
            } catch let error as KeyHolderError {
                report("a key in the TPM cannot be used: \(error)")
                result =
                    error.isKeyLost
                    ? .init(isInvalidated: true, reason: RefusalCause.keyLost.rawValue)
                    : .init(status: Status.notAvailable.rawValue, reason: RefusalCause.deviceNotWorking.rawValue)
            } catch let error as KeyInterface.Failed {
                result = .init(status: error.status, reason: error.reason)
            } catch let error as KeyInterface.Invalidated {
                result = .init(isInvalidated: true, reason: error.reason)
            } catch {
                // What was there when it was begun is not any more: the app's password.
                result = .init(
                    status: Status.authFailed.rawValue, reason: RefusalCause.noApplicationPassword.rawValue)
            }
            endHeldKeyJob()
            let isDone = result.status == nil && result.isInvalidated != true
            if var fact {
                if !isDone { fact.result = result.isInvalidated == true ? "invalidated" : "not-done" }
                note([fact])
            }
            tell([EnclaveEvent(ticket: ticket, outcome: isDone ? .succeeded : .failed, key: result)])
        }
        return .init(ticket: ticket)
    }
}
