import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneKeychain

/// A call that has the owner asked, by itself: what it asks, when it gives up, and what is left of it.
@Suite(.timeLimit(.minutes(10))) struct ProvenCallTests {
    private typealias Method = KeychainInterface.Delete
    private let broker = ScriptedBroker()
    private let attempts = Counter()

    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    private static func control(_ flags: AccessControl.Flags) throws -> AccessControl {
        try AccessControl(protection: .whenUnlocked, flags: flags)
    }

    /// Calls a service that wants `proofs` for the first `times` attempts; how it ended.
    private func call(
        _ proofs: [WantedProof], times: Int, context: String? = nil,
        options: AuthenticationInterface.Options? = .init(reason: "r")
    ) throws -> any Error {
        let (broker, attempts) = (broker, attempts)
        let handler = VarlinkHandler.deferred(Method.self) { _, call in
            let asked = CallProofs(broker, for: call.connection, context: context, options: options)
            ProvenCall.begin(call, asked) { call in
                let count = attempts.count.withLock { count in
                    count += 1
                    return count
                }
                guard count <= times else { return call.call.fail(KeychainInterface.Failed(.itemNotFound)) }
                call.wait(for: ProofNeeded(proofs: proofs)) { error in
                    switch error {
                    case let error as ProofNotGiven:
                        call.call.fail(KeychainInterface.Failed(error.failed, error.accessControl))
                    case let refusal as Refusal: call.call.fail(KeychainInterface.Failed(refusal))
                    default: call.call.drop()
                    }
                }
            }
        }
        let router = VarlinkRouter(
            info: .init(product: "test", version: "0"),
            interfaces: [VarlinkInterface(name: KeychainInterface.name, description: [], handlers: [handler])])
        let client = try LoopbackEndpoint(router: router, peer: Peer(processID: 1, userID: 1) { nil }).client()
        return try #require(throws: RemoteError.self) { try client.call(Method.self, .init(query: [:])) }
    }

    private func failed(_ error: any Error) -> KeychainInterface.Failed? {
        (error as? RemoteError)?.as(KeychainInterface.Failed.self)
    }

    @Test("AC-40, AC-23: all that is wanted is asked for, one after the other, and the call goes on") func goesOn()
        throws
    {
        let wanted = try [Self.control(.biometryAny), Self.control(.devicePasscode)]
        let proofs = wanted.map { WantedProof(accessControl: $0, operation: .useItem) }
        #expect(failed(try call(proofs, times: 1))?.status == Status.itemNotFound.rawValue)
        #expect(attempts.count.withLock { $0 } == 2)
        #expect(broker.state.withLock { $0.asked } == wanted)
    }

    @Test("AC-25: a call without a context has one of its own, which ends with it") func ownContext() throws {
        let proof = WantedProof(accessControl: try Self.control(.userPresence), operation: .useItem)
        _ = try call([proof], times: 3)
        #expect(broker.state.withLock { $0.made } == 1)
        eventually { broker.state.withLock { $0.ended } == ["context 1"] }
    }

    @Test("AC-25: the app's own context is used, and is left as it is") func givenContext() throws {
        let proof = WantedProof(accessControl: try Self.control(.userPresence), operation: .useItem)
        _ = try call([proof], times: 1, context: "the app's")
        #expect(broker.state.withLock { $0.made == 0 && $0.ended.isEmpty && $0.asked.count == 1 })
    }

    @Test("AC-40: a call that never has enough is given up after 20 rounds") func tooManyRounds() throws {
        let proof = WantedProof(accessControl: try Self.control(.userPresence), operation: .useItem)
        let failed = failed(try call([proof], times: .max))
        #expect(failed?.status == Status.authFailed.rawValue)
        #expect(failed?.reason == RefusalCause.tooManyRounds.rawValue)
        #expect(broker.state.withLock { $0.asked.count } == 20)
    }

    @Test("AC-44: a proof that is not given ends the call with its code, and what is behind it is not asked for")
    func notGiven() throws {
        broker.state.withLock { $0.answer = .failure(.init(.userCancel, "Canceled by user.", .ownerCancelled)) }
        let wanted = try [Self.control(.biometryAny), Self.control(.devicePasscode)]
        let failed = failed(
            try call(wanted.map { WantedProof(accessControl: $0, operation: .useItem) }, times: 1))
        #expect(failed?.status == Status.userCanceled.rawValue)
        #expect(failed?.code == .userCancel && failed?.message == "Canceled by user.")
        #expect(failed?.accessControl == wanted[0])
        #expect(broker.state.withLock { $0.asked } == [wanted[0]])
        #expect(attempts.count.withLock { $0 } == 1)
    }

    @Test("AC-41: a call that does not say how asks nobody") func withoutOptions() throws {
        let proof = WantedProof(accessControl: try Self.control(.userPresence), operation: .useItem)
        let failed = failed(try call([proof], times: 1, options: nil))
        #expect(failed?.status == Status.interactionNotAllowed.rawValue)
        #expect(failed?.reason == RefusalCause.interactionForbidden.rawValue && failed?.code == nil)
        #expect(broker.state.withLock { $0.asked.isEmpty && $0.made == 0 })
    }

    @Test("Large requests that wait for a person are few, at most half of them one app's, and leave their places")
    func largeRequests() {
        let requests = LargeRequests()
        var mine = (0..<4).compactMap { _ in requests.take(for: "caf\u{e9}") }
        #expect(mine.count == 2)
        // KC-42: another spelling of the same characters is another app. The last place is for one that has none.
        var theirs = (0..<4).compactMap { _ in requests.take(for: "cafe\u{301}") }
        #expect(theirs.count == 1)
        var third = (0..<4).compactMap { _ in requests.take(for: "third") }
        #expect(third.count == 1)
        #expect(requests.take(for: "fourth") == nil)
        mine.removeLast()
        #expect(requests.take(for: "caf\u{e9}") == nil)
        third.removeLast()
        theirs += (0..<4).compactMap { _ in requests.take(for: "cafe\u{301}") }
        #expect(theirs.count == 2)
        #expect(requests.take(for: "fourth") != nil)
        withExtendedLifetime(mine) {}
    }
}
