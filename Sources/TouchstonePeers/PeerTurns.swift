import Foundation
import Glibc
import TouchstoneCore
import TouchstoneTransport

/// What `touchstone-peers` does at a time, so that programs on a slow file system hold up those who have them and nobody else.
///
/// A thread that waits for a file system cannot be called back. So each owner has so many at most, and each executable one: who asks
/// about it again meanwhile waits for that one, and not for the file system.
package final class PeerTurns: @unchecked Sendable {
    // Unchecked: every access to what varies is under `condition`.
    package struct Limits: Sendable {
        /// Questions of one owner's device that are being answered, or wait for their turn.
        package var perOwner = 8
        /// Connections of one process, which has two in use and some for whom it asks at the same time.
        package var connectionsPerProcess = 16
        package var connections = 512
        /// Longest wait for one's turn, in seconds: as long as touchstoned waits for an answer.
        package var wait: Double = PeerMessage.longestWait
        package init() {}
    }

    private struct Subject: Hashable {
        var ownerID: UInt32
        var executable: PeerExecutable
    }

    private let limits: Limits
    private let manifests: AppManifests
    private let report: @Sendable (String) -> Void
    private let condition = NSCondition()
    private var questions: [UInt32: Int] = [:]
    private var subjects: Set<Subject> = []
    private var processes: [Int32: Int] = [:]
    private var connections = 0
    private var sources: [UInt32: PeerIdentities] = [:]

    /// - Parameters:
    ///   - manifests: What is said of the apps.
    ///   - limits: How much at a time.
    ///   - report: Is told of every peer that is refused.
    package init(manifests: AppManifests, limits: Limits = .init(), report: @escaping @Sendable (String) -> Void) {
        self.manifests = manifests
        self.limits = limits
        self.report = report
    }

    /// Answers one touchstoned until that is gone, on a thread of its own; closes the connection at once where there are too many.
    package func serve(_ socket: Int32, processID: Int32) {
        let hasRoom = condition.withLock {
            guard connections < limits.connections, processes[processID, default: 0] < limits.connectionsPerProcess
            else { return false }
            connections += 1
            processes[processID, default: 0] += 1
            return true
        }
        guard hasRoom else {
            _ = close(socket)
            return
        }
        Thread { [self] in
            answerPeerQuestions(on: socket, turns: self, report: report)
            condition.withLock {
                connections -= 1
                processes[processID] = processes[processID].flatMap { $0 > 1 ? $0 - 1 : nil }
            }
        }.start()
    }

    /// Runs `body` when nothing else is looked at that runs this executable.
    ///
    /// - Returns: nil where the owner has too many questions, or the turn did not come in time; then `body` did not run.
    func run<Result>(
        ownerID: UInt32, _ executable: PeerExecutable, _ body: (PeerIdentities) -> Result
    ) -> Result? {
        let subject = Subject(ownerID: ownerID, executable: executable)
        guard let source = begin(subject) else { return nil }
        defer {
            condition.withLock {
                subjects.remove(subject)
                leave(ownerID)
                condition.broadcast()
            }
        }
        return body(source)
    }

    private func begin(_ subject: Subject) -> PeerIdentities? {
        condition.withLock {
            let count = questions[subject.ownerID, default: 0]
            guard count < limits.perOwner else { return nil }
            questions[subject.ownerID] = count + 1
            let deadline = Date(timeIntervalSinceNow: limits.wait)
            while subjects.contains(subject) {
                guard condition.wait(until: deadline) else {
                    leave(subject.ownerID)
                    return nil
                }
            }
            subjects.insert(subject)
            if let source = sources[subject.ownerID] { return source }
            if sources.count >= limits.connections { sources = [:] }
            let source = PeerIdentities(ownerID: subject.ownerID, manifests: manifests, report: report)
            sources[subject.ownerID] = source
            return source
        }
    }

    /// To be called with the lock held.
    private func leave(_ ownerID: UInt32) {
        questions[ownerID] = questions[ownerID].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}
