import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

// Unchecked: what changes in it is atomic.
/// A context of a modified app: whatever is evaluated has succeeded, and nobody was asked.
private final class LyingContext: LAContext, @unchecked Sendable {
    let lies = Atomic(0)

    override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }

    override func evaluatePolicy(
        _ policy: LAPolicy, localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        lies.add(1, ordering: .relaxed)
        reply(true, nil)
    }

    override func evaluatePolicy(_ policy: LAPolicy, localizedReason: String) async throws -> Bool {
        lies.add(1, ordering: .relaxed)
        return true
    }

    override func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation, localizedReason: String,
        reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        lies.add(1, ordering: .relaxed)
        reply(true, nil)
    }

    override var evaluatedPolicyDomainState: Data? { Data(count: 32) }
}

/// The answer of an evaluation decides nothing: the key is in the enclave, and so is what was proven.
@Suite struct LyingContextTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    @Test("AC-20: an app that answers its own evaluation with success gets no signature")
    func lies() async throws {
        try await device.run {
            let context = LyingContext()
            // So that nobody is asked in the key's own name, which would be no lie.
            context.interactionNotAllowed = true
            let key = try enclaveKey([.biometryAny, .privateKeyUsage], context: context)
            #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "lie"))
            context.evaluateAccessControl(
                try control([.biometryAny, .privateKeyUsage]), operation: .useKeySign, localizedReason: "lie"
            ) { isOwner, _ in #expect(isOwner) }
            #expect(context.lies.load(ordering: .relaxed) == 2)
            #expect(refusal { try signature(of: key) } == .notInteractive)
            #expect(refusal { _ = try decryption(with: key) } == .notInteractive)
            #expect(refusal { try exchange(key, softwareKey()) } == .notInteractive)
            #expect(device.prompts.isEmpty)

            // The twin: the owner is asked, and comes.
            context.interactionNotAllowed = false
            device.present(.finger(1))
            #expect(try isValid(signature(of: key), by: key))
            #expect(device.prompts.count == 1)
        }
    }
}
