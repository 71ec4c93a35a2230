import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface
import TouchstoneMemory

@testable import TouchstoneEnclave

/// Keys of ML-KEM and ML-DSA beside those of P-256, as the enclave makes, seals and opens them.
@Suite struct PostQuantumKeyTests {
    private let enclave: Enclave

    init() throws { enclave = try Enclave.device() }

    private func create(_ kind: KeyKind) throws -> MadeKey {
        try enclave.createKey(
            .init(
                kind: kind, accessControl: .init(protection: .whenUnlocked, flags: .privateKeyUsage),
                accessGroup: "app", app: "app", context: nil))
    }

    private func use(_ key: Data) -> Enclave.KeyRequest {
        .init(key: key, app: "app", accessGroups: ["app"], context: nil)
    }

    private func sign(_ key: Data, _ message: Data, context: Data = Data()) throws -> Data {
        try enclave.signMessage(message, context: context, with: use(key)).get()
    }

    private func decapsulate(_ key: Data, _ encapsulated: Data) throws -> Data {
        try enclave.decapsulate(encapsulated, with: use(key)).get()
    }

    /// What is under both layers of a blob.
    private func seed(_ blob: Data) throws -> Data {
        let blob = try #require(PrivateKeyBlob(blob, key: enclave.blobKey.symmetricKey))
        let classKey = try #require(enclave.keys[.whenUnlocked])
        return try AES.GCM.open(
            AES.GCM.SealedBox(combined: blob.sealedKey), using: classKey.symmetricKey,
            authenticating: blob.description)
    }

    @Test(
        "SE-03: under both layers of a blob is the seed, and outside of them it is nowhere",
        arguments: KeyKind.allCases)
    func seedIsSealed(_ kind: KeyKind) throws {
        let made = try create(kind)
        let seed = try seed(made.key)
        #expect(seed.count == (kind == .mlkem768 || kind == .mlkem1024 ? 64 : 32))
        #expect(try #require(PrivateKey(kind, rawRepresentation: seed)).publicKey == made.publicKey)
        let outer = try #require(PrivateKeyBlob(made.key, key: enclave.blobKey.symmetricKey))
        for place in [made.key, made.publicKey, outer.description, outer.sealedKey, try enclave.stateFile()] {
            // Nor its first half, nor in hex or base64.
            #expect(place.range(of: seed.prefix(16)) == nil)
            #expect(place.range(of: Data(seed.prefix(15).base64EncodedString().utf8)) == nil)
            #expect(place.range(of: Data(seed.prefix(16).map { String(format: "%02x", $0) }.joined().utf8)) == nil)
        }
        // The search finds what is there.
        #expect((Data(7...99) + seed).range(of: seed.prefix(16)) != nil)
    }

    @Test("A key does what its kind does, and is refused for all else with -50", arguments: KeyKind.allCases)
    func operations(_ kind: KeyKind) throws {
        let made = try create(kind)
        let facts = try enclave.inspectKey(made.key, accessGroups: ["app"])
        #expect(facts.kind == kind && facts.publicKey == made.publicKey)
        let point = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        let outcomes: [Status?] = [
            refusal { _ = try enclave.sign(Data(count: 32), with: use(made.key)).get() },
            refusal {
                _ = try enclave.exchangeKeys(with: point, use(made.key), for: .useKeyKeyExchange).get()
            },
            refusal { _ = try sign(made.key, Data("message".utf8)) },
            refusal { _ = try decapsulate(made.key, Data(count: 1088)) },
            refusal { _ = try decapsulate(made.key, Data(count: 1568)) },
        ]
        let expected: [Status?] =
            switch kind {
            case .p256: [nil, nil, .param, .param, .param]
            case .mlkem768: [.param, .param, .param, nil, .param]
            case .mlkem1024: [.param, .param, .param, .param, nil]
            case .mldsa65, .mldsa87: [.param, .param, nil, .param, .param]
            }
        #expect(outcomes == expected)
    }

    @Test("What was encapsulated to a key comes out, of both sizes") func decapsulate() throws {
        let small = try create(.mlkem768)
        let result = try MLKEM768.PublicKey(rawRepresentation: small.publicKey).encapsulate()
        #expect(SymmetricKey(data: try decapsulate(small.key, result.encapsulated)) == result.sharedSecret)
        let large = try create(.mlkem1024)
        let other = try MLKEM1024.PublicKey(rawRepresentation: large.publicKey).encapsulate()
        #expect(SymmetricKey(data: try decapsulate(large.key, other.encapsulated)) == other.sharedSecret)
        for length in [0, 1, 1087, 1089, 1 << 20] {
            #expect(refusal { _ = try decapsulate(small.key, Data(count: length)) } == .param)
        }
    }

    @Test("The enclave bounds a message and its context itself") func bounds() throws {
        let made = try create(.mldsa65)
        let publicKey = try MLDSA65.PublicKey(rawRepresentation: made.publicKey)
        let (message, context) = (Data(count: 512 << 10), Data(count: 255))
        #expect(
            publicKey.isValidSignature(try sign(made.key, message, context: context), for: message, context: context))
        #expect(refusal { _ = try sign(made.key, message + [0]) } == .param)
        #expect(refusal { _ = try sign(made.key, Data(), context: context + [0]) } == .param)
    }

    @Test("AC-50: a key of the current set is refused before anything else once the fingers changed") func currentSet()
        throws
    {
        var enclave = enclave
        try enclave.enroll("one", sample: Sample(Data("one".utf8)))
        let key = try enclave.createKey(
            .init(
                kind: .mlkem768,
                accessControl: .init(protection: .whenUnlocked, flags: [.privateKeyUsage, .biometryCurrentSet]),
                accessGroup: "app", app: "app", context: nil)
        ).key
        func take() throws { _ = try enclave.decapsulate(Data(count: 1088), with: use(key)).get() }
        #expect(isNeeded { try take() } != nil)
        try enclave.enroll("two", sample: Sample(Data("two".utf8)))
        #expect(isInvalidated { try take() })
    }
}
