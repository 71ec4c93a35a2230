import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneTransport

/// What touchstoned, which may not look at other users' processes, asks `touchstone-peers`, which may: one message of JSON each way, with
/// the process's pidfd beside the question.
struct PeerQuestion: Codable {
    enum Kind: String, Codable {
        /// Answered with what the process runs now, and a descriptor that can be read no longer once the memory of that is gone.
        case watch
        case identify
        case origin
    }

    var kind: Kind
    var processID: Int32
    var userID: UInt32
    /// Whose device it is.
    var ownerID: UInt32
    /// What `watch` was answered: of a process that runs something else, nothing is said.
    ///
    /// Its memory alone does not tell: a process that shares it (CLONE_VM) keeps it while this one executes another program.
    var executable: PeerExecutable?
    /// With `watch`: the process is no peer but one that a peer asks for, and has to have begun then.
    var startTicks: Int64?
}

struct PeerAnswer: Codable {
    /// An identity with what otherwise never is in a message.
    struct Identity: Codable {
        struct Shown: Codable {
            var identifier: AppIdentifier
            var evidence: AppIdentity.Evidence
            var name: String
            var processID: Int32
            var userID: UInt32
            var executableDigest: String?
        }

        var identity: Shown
        var keychainAccessGroups: [AccessGroup]
        var applicationGroups: [AccessGroup]
        var hasPinnedDigest: Bool?
        var faceIDUsageDescription: String?
        var actsForClients: Bool?

        init(_ identity: AppIdentity) {
            self.identity = Shown(
                identifier: identity.identifier, evidence: identity.evidence, name: identity.name,
                processID: identity.processID, userID: identity.userID, executableDigest: identity.executableDigest)
            keychainAccessGroups = identity.keychainAccessGroups
            applicationGroups = identity.applicationGroups
            hasPinnedDigest = identity.hasPinnedDigest
            faceIDUsageDescription = identity.faceIDUsageDescription
            actsForClients = identity.actsForClients ? true : nil
        }

        var value: AppIdentity {
            AppIdentity(
                identifier: identity.identifier, evidence: identity.evidence, name: identity.name,
                processID: identity.processID, userID: identity.userID, executableDigest: identity.executableDigest,
                hasPinnedDigest: hasPinnedDigest, keychainAccessGroups: keychainAccessGroups,
                applicationGroups: applicationGroups,
                faceIDUsageDescription: faceIDUsageDescription, actsForClients: actsForClients ?? false)
        }
    }

    var executable: PeerExecutable?
    /// Of a process that a peer asks for: whose it is.
    var userID: UInt32?
    var identity: Identity?
    var origin: ProcessOrigin?
}

enum PeerMessage {
    /// Longest wait for an answer, in seconds: whatever the file system that a program lies on does.
    static let longestWait = 5.0
    /// Larger than any identity with its groups, and any origin.
    static let maximumBytes = 192 << 10

    static func send(_ value: some Encodable, _ descriptor: Int32 = -1, to socket: Int32) -> Bool {
        guard let bytes = try? JSONEncoder().encode(value), bytes.count <= maximumBytes else { return false }
        return unsafe bytes.withUnsafeBytes {
            unsafe touchstone_send_message(socket, $0.baseAddress!, $0.count, descriptor) == 0
        }
    }

    /// nil at the end, or where something else came; the caller closes the descriptor.
    static func receive<Value: Decodable>(_ type: Value.Type, from socket: Int32) -> (value: Value, descriptor: Int32)?
    {
        var descriptor: Int32 = -1
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
            count = max(0, unsafe touchstone_receive_message(socket, buffer.baseAddress!, buffer.count, &descriptor))
        }
        guard !bytes.isEmpty, let value = try? JSONDecoder().decode(type, from: Data(bytes)) else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        return (value, descriptor)
    }
}

/// Answers one touchstoned, on the calling thread, until that is gone.
func answerPeerQuestions(on socket: Int32, turns: PeerTurns, report: @escaping @Sendable (String) -> Void) {
    defer { close(socket) }
    while let (question, descriptor) = PeerMessage.receive(PeerQuestion.self, from: socket) {
        guard descriptor >= 0 else { return }
        var watch: Int32 = -1
        defer { if watch >= 0 { close(watch) } }
        var answer = PeerAnswer()
        let process = PeerProcess(processID: question.processID, descriptor: descriptor)
        switch question.kind {
        case .watch:
            guard let process, let executable = process.executable else { break }
            if let startTicks = question.startTicks {
                guard let userID = process.userID(startedAt: startTicks), [question.ownerID, 0].contains(userID) else {
                    break
                }
                answer.userID = userID
            }
            // Read only for whether it can be: it ends with the memory of the program that is executed before and after.
            watch = unsafe open("\(process.path)/pagemap", O_RDONLY | O_CLOEXEC)
            if watch >= 0, !process.isUnchanged {
                close(watch)
                watch = -1
            }
            answer.executable = executable
        case .identify, .origin:
            // Looked at once more when that is known.
            guard let process, let executable = process.executable, executable == question.executable else {
                report(
                    "process \(question.processID) of user \(question.userID) is refused: it runs another program than when it connected"
                )
                break
            }
            let isAnswered: Void? = turns.run(ownerID: question.ownerID, executable) { source in
                let peer = source.peer(process, processID: question.processID, userID: question.userID)
                if question.kind == .identify {
                    answer.identity = peer.identify().map(PeerAnswer.Identity.init)
                } else {
                    answer.origin = peer.origin()
                }
            }
            if isAnswered == nil {
                report(
                    "process \(question.processID) of user \(question.userID) is refused: too much of that user's waits for a file system"
                )
            }
        }
        guard PeerMessage.send(answer, watch, to: socket) else { return }
    }
}
