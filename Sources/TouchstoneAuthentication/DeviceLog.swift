import Dispatch
import Foundation
import Synchronization
import TouchstoneCore
package import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneTransport

/// Where the lines of the log are kept.
package protocol LogStorage: Sendable {
    /// Adds a line; it is in the file, not yet surely on the disk, when this returns.
    func append(_ line: String) throws
    /// Returns once what was added would survive a power cut.
    func synchronize() throws
    /// The lines as they are now, oldest first, or the newest so many of them.
    ///
    /// What comes back can be read while more is added.
    func lines(newest: Int?) throws -> any Sequence<String>
}

/// touchstoned's part of the log: keeps the lines that the enclave writes, passes them on, and shows them to the owner.
///
/// All of it happens on a queue of its own: nothing that an app waits for waits for it. A disk that is full stops nothing.
package final class DeviceLog: Sendable {
    private let storage: any LogStorage
    private let enclave: EnclaveClient
    private let refusals: RefusalNotes
    private let arrivalSeconds: Double
    private let journal: Journal?
    private let report: @Sendable (String) -> Void
    private let queue = DispatchQueue(label: "io.touchstone.log")
    private let state = Mutex(State())

    private struct State {
        /// Lines that could not be written yet, oldest first.
        var unwritten: [String] = []
        /// Lines that are lost since the last one that could be written.
        var lost = 0
        var isFailing = false
        /// The last entry that was taken in, written or not.
        var taken = 0
        var waiting: [(sequence: Int, body: @Sendable () -> Void)] = []
        var followers: [UInt64: (process: Int32, body: @Sendable ([String]) -> Void)] = [:]
        var nextFollower: UInt64 = 0
    }

    enum Limits {
        static let unwritten = 1024
        static let following = 10_000
        /// Calls of one process that follow.
        static let followers = 4
    }

    /// A log without a line of this boot.
    ///
    /// - Parameters:
    ///   - storage: Where its lines are kept.
    ///   - enclave: Who writes them.
    ///   - refusals: What waits to be told to the enclave.
    ///   - journal: Where entries are sent as well.
    ///   - arrivalSeconds: Longest wait for lines that the enclave has written, and that are on their way.
    ///   - report: Takes a sentence for touchstoned's own log.
    package init(
        storage: any LogStorage, enclave: EnclaveClient, refusals: RefusalNotes, journal: Journal?,
        arrivalSeconds: Double, report: @escaping @Sendable (String) -> Void
    ) {
        self.storage = storage
        self.enclave = enclave
        self.refusals = refusals
        self.journal = journal
        self.arrivalSeconds = arrivalSeconds
        self.report = report
    }

    /// Has the enclave go on with the log; to be called once its events are heard.
    package func begin() throws {
        var newest: [String] = []
        do {
            // What is too long to be an entry is none, but there.
            newest = try storage.lines(newest: EnclaveInterface.ResumeLog.maximumLines)
                .map { $0.utf8.count <= LogEntry.maximumLineBytes ? $0 : "" }
        } catch {
            report("the log cannot be read: \(error)")
        }
        _ = try enclave.call(EnclaveInterface.ResumeLog.self, .init(newestLines: newest))
    }

    /// Has the enclave end the log, and waits until its last line is kept; the enclave logs nothing afterwards.
    package func end() {
        flush()
        guard let head = try? enclave.call(EnclaveInterface.CloseLog.self, Empty()).head else { return }
        let isKept = DispatchSemaphore(value: 0)
        whenTaken(head.sequence) { isKept.signal() }
        isKept.wait()
        queue.sync {}
    }

    /// Has the enclave hear of what touchstoned only counted so far.
    func flush() { refusals.flush() }

    /// Keeps new lines, and passes them on.
    package func take(_ lines: [String]) {
        queue.async { [self] in
            for line in lines { append(line) }
            let entries = lines.compactMap(LogEntry.init(line:))
            for entry in entries { journal?.send(entry) }
            let (ready, followers) = state.withLock { state in
                state.taken = max(state.taken, entries.last?.sequence ?? 0)
                let ready = state.waiting.filter { $0.sequence <= state.taken }
                state.waiting.removeAll { $0.sequence <= state.taken }
                return (ready, Array(state.followers.values))
            }
            for follower in followers { follower.body(lines) }
            for body in ready { body.body() }
            do { try storage.synchronize() } catch { failed(error) }
        }
    }

    private func append(_ line: String) {
        state.withLock { state in
            guard state.unwritten.count < Limits.unwritten else {
                state.lost += 1
                return
            }
            state.unwritten.append(line)
        }
        do {
            while let next = state.withLock({ $0.unwritten.first }) {
                try storage.append(next)
                state.withLock { _ = $0.unwritten.removeFirst() }
            }
        } catch {
            return failed(error)
        }
        let (wasFailing, lost) = state.withLock { state in
            defer { (state.isFailing, state.lost) = (false, 0) }
            return (state.isFailing, state.lost)
        }
        if wasFailing { report("the log can be written again; \(lost) entries are lost") }
        if lost > 0 {
            // The enclave answers on another thread than the one that brings its lines.
            _ = try? enclave.call(EnclaveInterface.NoteObservation.self, .init(.logInterrupted, count: lost))
        }
    }

    private func failed(_ error: any Error) {
        let isNew = state.withLock { state in
            defer { state.isFailing = true }
            return !state.isFailing
        }
        if isNew { report("the log cannot be written: \(error)") }
    }

    /// Calls `body` when the entry has been taken in, or did not come in time.
    func whenTaken(_ sequence: Int, _ body: @escaping @Sendable () -> Void) {
        let isThere = state.withLock { state in
            if state.taken >= sequence { return true }
            state.waiting.append((sequence, body))
            return false
        }
        if isThere { return body() }
        queue.asyncAfter(deadline: .now() + arrivalSeconds) { [self] in
            let late = state.withLock { state in
                defer { state.waiting.removeAll { $0.sequence == sequence } }
                return state.waiting.filter { $0.sequence == sequence }
            }
            for late in late { late.body() }
        }
    }

    /// The lines that are kept now.
    func lines(newest: Int?) throws -> any Sequence<String> {
        try queue.sync { try storage.lines(newest: newest) }
    }

    /// Tells each new line from now on, on the log's queue, which `body` must not hold up.
    ///
    /// - Returns: What is there already, the newest; and what `unfollow` takes.
    /// - Throws: `Refused` with `busy` where the process has as many of these as it may have.
    func follow(
        newest: Int?, process: Int32, _ body: @escaping @Sendable ([String]) -> Void
    ) throws -> (lines: any Sequence<String>, follower: UInt64) {
        try queue.sync {
            let lines = try storage.lines(newest: min(max(newest ?? Limits.following, 0), Limits.following))
            let follower: UInt64? = state.withLock { state in
                guard state.followers.values.count(where: { $0.process == process }) < Limits.followers else {
                    return nil
                }
                state.nextFollower += 1
                state.followers[state.nextFollower] = (process, body)
                return state.nextFollower
            }
            guard let follower else { throw DeviceInterface.Refused(.busy) }
            return (lines, follower)
        }
    }

    func unfollow(_ follower: UInt64) {
        state.withLock { $0.followers[follower] = nil }
    }
}
