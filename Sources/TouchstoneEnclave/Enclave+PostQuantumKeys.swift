import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneInterfaces

/// Keys of ML-DSA and ML-KEM: as those of P-256 but for what they do.
extension Enclave {
    func signMessage(_ request: EnclaveInterface.SignMessage.Parameters) throws -> KeyInterface.SignMessage.Reply {
        let key = try key(request.use, for: .useKeySign)
        do throws(Status) {
            return .init(signature: try key.signature(forMessage: request.message, context: request.signatureContext))
        } catch {
            throw KeyInterface.Failed(error)
        }
    }

    func decapsulate(_ request: EnclaveInterface.Decapsulate.Parameters) throws -> KeyInterface.Decapsulate.Reply {
        let key = try key(request.use, for: .useKeyKeyExchange)
        do throws(Status) {
            return .init(sharedSecret: try key.decapsulate(request.encapsulated))
        } catch {
            throw KeyInterface.Failed(error)
        }
    }
}

extension EnclaveHost {
    func signMessage(_ request: EnclaveInterface.SignMessage.Parameters) throws -> KeyInterface.SignMessage.Reply {
        try use(request.use, for: .useKeySign) { try $0.signMessage(request) }
    }

    func decapsulate(_ request: EnclaveInterface.Decapsulate.Parameters) throws -> KeyInterface.Decapsulate.Reply {
        try use(request.use, for: .useKeyKeyExchange) { try $0.decapsulate(request) }
    }
}
