internal import Crypto
internal import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces
internal import TouchstoneKeyAlgorithms
internal import TouchstoneTransport

/// A private P-256 key that the enclave made: what the enclave knows it by, and its public half.
///
/// Whatever needs the private half is asked of the device, each time (SE-16), on the context that the key came with (SE-05).
struct EnclaveKey: Sendable {
    private let key: Data
    private let point: EllipticCurvePublicKey
    private let attributes: KeychainInterface.Dictionary
    private let isPermanent: Bool
    /// Immutable, and every member of a context may be used from any thread.
    nonisolated(unsafe) private let authentication: Authentication

    /// - Parameters:
    ///   - key: What `KeyInterface` calls the key.
    ///   - publicKey: Its point; the result is nil for a point that is not on P-256.
    ///   - attributes: Labels, tag, access group and access control, as far as they are known.
    ///   - isPermanent: Whether it is in the keychain.
    ///   - authentication: How the owner is asked where it is used.
    init?(
        key: Data, publicKey: Data, attributes: KeychainInterface.Dictionary, isPermanent: Bool,
        authentication: Authentication
    ) {
        guard let point = try? EllipticCurvePublicKey(x963Representation: publicKey), case .p256 = point else {
            return nil
        }
        self.key = key
        self.point = point
        self.attributes = attributes
        self.isPermanent = isPermanent
        var authentication = authentication
        authentication.keyLabel = Self.label(attributes)
        unsafe self.authentication = authentication
    }

    /// Has the enclave make a key.
    ///
    /// - Parameters:
    ///   - query: The parameters of the private half.
    ///   - isPermanent: Whether it will be in the keychain.
    /// - Throws: `.param` if the access control and the accessibility disagree; what the call throws.
    init(_ query: ItemQuery, isPermanent: Bool) throws {
        let control = try Self.accessControl(query.entries)
        let group: AccessGroup? =
            if case .string(let group)? = query.entries[.accessGroup] { AccessGroup(group) } else { nil }
        let reply = try query.authentication.call(KeyInterface.Create.self, as: "SecKeyCreateRandomKey") {
            .init(
                kind: .p256, accessControl: control, accessGroup: group, context: $0.context, options: $0.options)
        }
        var attributes = query.entries.filter { [.label, .applicationTag, .accessGroup].contains($0.key) }
        if let label = query.entries[.applicationLabel] {
            attributes[.applicationLabel] = try ItemClass.key.attribute(.applicationLabel)?.kept(label)
        }
        attributes[.accessControl] = .accessControl(control)
        guard
            let key = EnclaveKey(
                key: reply.key, publicKey: reply.publicKey, attributes: attributes, isPermanent: isPermanent,
                authentication: query.authentication)
        else { throw Status.internalError }
        self = key
    }

    private static func accessControl(_ entries: KeychainInterface.Dictionary) throws(Status) -> AccessControl {
        var accessibility: Accessibility?
        if let value = entries[.accessible] {
            guard case .string(let code) = value, let known = Accessibility(rawValue: code) else { throw .param }
            accessibility = known
        }
        switch entries[.accessControl] {
        case nil:
            return try AccessControl(
                protection: accessibility ?? ItemClass.key.defaultAccessibility, flags: [])
        case .accessControl(let control)? where accessibility ?? control.protection == control.protection:
            return control
        default: throw .param
        }
    }

    private static func label(_ attributes: KeychainInterface.Dictionary) -> String? {
        switch attributes[.label] {
        case .string(let label): label
        case .data(let label): String(data: label, encoding: .utf8)
        default: nil
        }
    }

    private func exchangeKeys(
        with other: EllipticCurvePublicKey, _ operation: AccessControlOperation
    ) throws -> SymmetricKey {
        let function = operation == .useKeyDecrypt ? "SecKeyCreateDecryptedData" : "SecKeyCopyKeyExchangeResult"
        let reply = unsafe try authentication.call(KeyInterface.ExchangeKeys.self, as: function, isRepeatable: true) {
            .init(
                key: key, publicKey: other.x963Representation, operation: operation, context: $0.context,
                options: $0.options, keyLabel: $0.keyLabel)
        }
        var secret = reply.sharedSecret
        defer { secret.resetBytes(in: 0..<secret.count) }
        return SymmetricKey(data: secret)
    }
}

extension EnclaveKey: KeyImplementation {
    var keyType: KeyType { .ellipticCurve }
    var keyClass: KeyClass { .private }
    var sizeInBits: Int { point.curve.sizeInBits }
    var blockSize: Int { point.curve.fieldSize }
    var publicKey: SoftwareKey { .ellipticCurvePublic(point) }

    /// SE-02.
    func externalRepresentation() throws(Status) -> Data { throw .unimplemented }

    var itemData: Data? { key }

    var ownAttributes: KeychainInterface.Dictionary {
        [
            .tokenID: .secureEnclave, .isPermanent: .boolean(isPermanent), .isSensitive: .boolean(true),
            .wasAlwaysSensitive: .boolean(true),
            .isExtractable: .boolean(false), .wasNeverExtractable: .boolean(true),
        ].merging(attributes.filter { $0.key == .applicationLabel }) { $1 }
    }

    var furtherAttributes: KeychainInterface.Dictionary {
        attributes.filter { [.label, .applicationTag, .accessGroup, .accessControl].contains($0.key) }
    }

    func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch (algorithm, operation) {
        case (.ecdsaSignature, .sign), (.eciesEncryption, .decrypt), (.ecdhKeyExchange, .keyExchange): true
        default: false
        }
    }

    func signature(for data: Data, _ algorithm: KeyAlgorithm) throws -> Data {
        guard case .ecdsaSignature(let encoding, let input) = algorithm else { throw Status.param }
        let digest = try input.number(of: data, byteCount: point.curve.fieldSize)
        let reply = unsafe try authentication.call(
            KeyInterface.Sign.self, as: "SecKeyCreateSignature", isRepeatable: true
        ) {
            .init(key: key, data: digest, context: $0.context, options: $0.options, keyLabel: $0.keyLabel)
        }
        return try encoding.p256Signature(reply.signature)
    }

    func decrypt(_ ciphertext: Data, _ algorithm: KeyAlgorithm) throws -> Data {
        guard case .eciesEncryption(let scheme) = algorithm else { throw Status.param }
        // The scheme knows statuses; what a call throws says more.
        var failure: (any Error)?
        do throws(Status) {
            return try scheme.decrypt(ciphertext, point.curve) { other throws(Status) in
                do {
                    return try exchangeKeys(with: other, .useKeyDecrypt)
                } catch {
                    failure = error
                    throw Status(failure: error)
                }
            }
        } catch {
            throw failure ?? error
        }
    }

    func sharedSecret(with other: EllipticCurvePublicKey) throws -> SymmetricKey {
        guard other.curve == point.curve else { throw Status.param }
        return try exchangeKeys(with: other, .useKeyKeyExchange)
    }
}
