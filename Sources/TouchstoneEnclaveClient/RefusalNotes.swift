internal import Dispatch
internal import Synchronization
package import TouchstoneCore
import TouchstoneEnclaveInterface

/// What touchstoned refused by itself, on its way to the log.
///
/// Whoever refuses does not wait: equal refusals are counted here, and the enclave is told of them at most once in a second, so that an app
/// that is refused again and again costs no other app its turn.
package final class RefusalNotes: Sendable {
    enum Limits {
        /// Refusals that differ, between two times that the enclave is told; more are only counted, all together.
        static let distinct = 64
        /// Those of one app.
        static let ofOneApp = 16
        /// Nanoseconds.
        static let interval: UInt64 = 1_000_000_000
    }

    private struct State {
        /// In the order in which they first came.
        var waiting: [(call: EnclaveInterface.RefusedCall, count: Int)] = []
        var places: [EnclaveInterface.RefusedCall: Int] = [:]
        var others = 0
        var isScheduled = false
        /// Before which the enclave is not told again, in nanoseconds since the machine started.
        var next: UInt64 = 0
    }

    private let enclave: EnclaveClient
    private let queue = DispatchQueue(label: "io.touchstone.refusals")
    private let state = Mutex(State())

    package init(enclave: EnclaveClient) {
        self.enclave = enclave
    }

    /// Counts one refusal; returns at once.
    ///
    /// `client` is for whom a bridge asked (ND-1). `requirement` is what the owner would have had to prove; nil for what was refused
    /// whatever they prove.
    package func note(
        _ cause: RefusalCause, of app: AppIdentity, for client: AppIdentifier? = nil, _ requirement: Requirement? = nil
    ) {
        let call = EnclaveInterface.RefusedCall(
            app: app.identifier, client: client, cause: cause, requirement: requirement)
        let time = state.withLock { state -> UInt64? in
            if let place = state.places[call] {
                state.waiting[place].count += 1
            } else if state.waiting.count < Limits.distinct,
                state.waiting.count(where: { $0.call.app == call.app }) < Limits.ofOneApp
            {
                state.places[call] = state.waiting.count
                state.waiting.append((call, 1))
            } else {
                state.others += 1
            }
            guard !state.isScheduled else { return nil }
            state.isScheduled = true
            return max(state.next, DispatchTime.now().uptimeNanoseconds)
        }
        if let time { queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time)) { [self] in tell() } }
    }

    /// Tells the enclave what was counted so far, and returns once it knows.
    package func flush() {
        queue.sync { tell() }
    }

    /// For the log, which works or does not: nobody waits for it.
    private func tell() {
        let (waiting, others) = state.withLock { state in
            defer {
                (state.waiting, state.places, state.others, state.isScheduled) = ([], [:], 0, false)
                state.next = DispatchTime.now().uptimeNanoseconds + Limits.interval
            }
            return (state.waiting, state.others)
        }
        typealias Note = EnclaveInterface.NoteObservation
        for (call, count) in waiting {
            _ = try? enclave.call(Note.self, .init(.callRefused, count: count, refused: call))
        }
        if others > 0 { _ = try? enclave.call(Note.self, .init(.callRefused, count: others)) }
    }
}
