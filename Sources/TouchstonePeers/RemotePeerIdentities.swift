import CTouchstoneSystem
import Foundation
import Glibc
import Synchronization
import TouchstoneCore
package import TouchstoneTransport

/// Has `touchstone-peers` say who is at the other end of a connection, where this process may not look at its owner's.
package final class RemotePeerIdentities: PeerSource {
    private let ownerID: UInt32
    private let programs: OwnerPrograms
    private let report: @Sendable (String) -> Void
    /// Apart, so that reading a large executable for one peer does not keep another from connecting.
    private let watches: PeerQuestions
    private let identities: PeerQuestions

    /// - Parameters:
    ///   - path: The socket of `touchstone-peers`.
    ///   - ownerID: The user whose device this is.
    ///   - programs: Those that may use the owner's interface.
    ///   - report: Is told of every peer that is refused.
    package init(
        path: String, ownerID: UInt32, programs: OwnerPrograms, report: @escaping @Sendable (String) -> Void
    ) {
        self.ownerID = ownerID
        self.programs = programs
        self.report = report
        watches = PeerQuestions(path: path)
        identities = PeerQuestions(path: path)
    }

    package func peer(ofSocket socket: Int32) -> Peer? {
        var credentials = touchstone_peer()
        guard unsafe touchstone_peer_of(socket, &credentials) == 0 else { return nil }
        let (processID, userID) = (credentials.pid, credentials.uid)
        guard userID == ownerID || userID == 0 else {
            if credentials.pidfd >= 0 { close(credentials.pidfd) }
            report("process \(processID) of user \(userID) is refused: the device is of user \(ownerID)")
            return Peer(processID: processID, userID: userID, isUnchanged: { false }, identify: { nil })
        }
        guard let process = WatchedProcess(processID, userID, ownerID, credentials.pidfd, watches) else {
            report("process \(processID) of user \(userID) is refused: touchstone-peers does not say what it runs")
            return Peer(processID: processID, userID: userID, isUnchanged: { false }, identify: { nil })
        }
        return peer(process)
    }

    /// A process that a peer asks for (ND-1).
    private func client(_ client: ClientProcess) -> Peer? {
        WatchedProcess(
            client.processID, ownerID, ownerID, touchstone_pidfd_of(client.processID), watches,
            startTicks: client.startTicks
        ).map(peer)
    }

    private func peer(_ process: WatchedProcess) -> Peer {
        Peer(
            processID: process.processID, userID: process.userID, isAskedElsewhere: true, ownerPrograms: programs,
            isUnchanged: { process.isUnchanged },
            identify: { [identities] in
                // Of the program that connected, where that runs before and after.
                guard process.isUnchanged,
                    let answer = identities.ask(process.question(.identify), process.descriptor)?.answer,
                    process.isUnchanged
                else { return nil }
                return answer.identity?.value
            },
            origin: { [identities] in identities.ask(process.question(.origin), process.descriptor)?.answer.origin },
            client: { [self] in client($0) })
    }
}

/// A process of which it can be told, without any right to look at it, whether it runs the program that it ran when it connected.
private final class WatchedProcess: Sendable {
    /// Its pidfd.
    let descriptor: Int32
    private let watch: Int32
    private let executable: PeerExecutable
    let processID: Int32
    let userID: UInt32
    private let ownerID: UInt32

    /// Takes ownership of `descriptor`.
    ///
    /// With `startTicks` it is no peer, and touchstone-peers says whose it is.
    init?(
        _ processID: Int32, _ userID: UInt32, _ ownerID: UInt32, _ descriptor: Int32, _ questions: PeerQuestions,
        startTicks: Int64? = nil
    ) {
        guard descriptor >= 0 else { return nil }
        var question = PeerQuestion(kind: .watch, processID: processID, userID: userID, ownerID: ownerID)
        question.startTicks = startTicks
        let reply = questions.ask(question, descriptor)
        guard let reply, reply.descriptor >= 0, let executable = reply.answer.executable,
            startTicks == nil || reply.answer.userID != nil
        else {
            if let reply, reply.descriptor >= 0 { close(reply.descriptor) }
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        watch = reply.descriptor
        self.executable = executable
        (self.processID, self.userID, self.ownerID) = (processID, reply.answer.userID ?? userID, ownerID)
    }

    deinit {
        close(descriptor)
        close(watch)
    }

    func question(_ kind: PeerQuestion.Kind) -> PeerQuestion {
        PeerQuestion(kind: kind, processID: processID, userID: userID, ownerID: ownerID, executable: executable)
    }

    /// One read, which finds nothing once the memory of that program is gone.
    var isUnchanged: Bool {
        var entry: UInt64 = 0
        return unsafe pread(watch, &entry, MemoryLayout.size(ofValue: entry), 0) == MemoryLayout.size(ofValue: entry)
    }
}

/// Connections to `touchstone-peers`, one question at a time on each, made anew where they ended.
///
/// One that is not answered in time is given up: whoever asks next has another.
private final class PeerQuestions: @unchecked Sendable {
    // Unchecked: every access to what varies is under `condition`.
    private let path: String
    private let condition = NSCondition()
    private var idle: [Int32] = []
    private var inUse: [PeerExecutable?: Int] = [:]

    /// Connections at a time: fewer than touchstone-peers answers for one owner.
    private static let maximum = 6
    /// Of these about one executable, so that one on a slow file system leaves some to others.
    private static let maximumForOne = 2

    init(path: String) { self.path = path }

    deinit { for connection in idle { close(connection) } }

    /// nil where nobody answers in time; the caller closes the descriptor.
    func ask(_ question: PeerQuestion, _ descriptor: Int32) -> (answer: PeerAnswer, descriptor: Int32)? {
        guard var connection = take(for: question.executable) else { return nil }
        defer {
            condition.withLock {
                inUse[question.executable] = inUse[question.executable].flatMap { $0 > 1 ? $0 - 1 : nil }
                if connection >= 0 { idle.append(connection) }
                // Those who wait do not all wait for the same.
                condition.broadcast()
            }
        }
        let began = ContinuousClock.now
        // A connection that was kept may have ended since: what could not be sent is sent on another.
        for _ in 0..<2 {
            if connection < 0 { connection = connectSequentialPacket(path, seconds: Int(PeerMessage.longestWait)) }
            guard connection >= 0 else { return nil }
            let isSent = PeerMessage.send(question, descriptor, to: connection)
            if isSent, let answer = PeerMessage.receive(PeerAnswer.self, from: connection) {
                return (answer.value, answer.descriptor)
            }
            close(connection)
            connection = -1
            // The file system that was too slow for the first is so for the second.
            if ContinuousClock.now - began > .seconds(PeerMessage.longestWait) / 2 { return nil }
        }
        return nil
    }

    /// A connection that nobody else uses, -1 for one that is to be made.
    private func take(for executable: PeerExecutable?) -> Int32? {
        condition.withLock {
            let deadline = Date(timeIntervalSinceNow: PeerMessage.longestWait)
            while inUse.values.reduce(0, +) >= Self.maximum
                || executable != nil && inUse[executable, default: 0] >= Self.maximumForOne
            {
                guard condition.wait(until: deadline) else { return nil }
            }
            inUse[executable, default: 0] += 1
            return idle.popLast() ?? -1
        }
    }
}
