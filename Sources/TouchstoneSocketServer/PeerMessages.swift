import CTouchstoneSystem
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneTransport

/// What touchstoned, which may not look at other users' processes, asks `touchstone-peers`, which may: one message of JSON each way, with
/// the process's pidfd beside the question.
struct PeerQuestion: Codable {
    enum Kind: String, Codable {
        /// Answered with a descriptor that can be read for as long as the process runs the program that it runs now.
        case watch
        case identify
        case origin
    }

    var kind: Kind
    var processID: Int32
    var userID: UInt32
    /// Whose device it is.
    var ownerID: UInt32
}

struct PeerAnswer: Codable {
    /// An identity with what otherwise never is in a message.
    struct Identity: Codable {
        var identity: AppIdentity
        var keychainAccessGroups: [String]
        var applicationGroups: [String]
        var faceIDUsageDescription: String?

        init(_ identity: AppIdentity) {
            self.identity = identity
            let own = identity.accessGroups.firstIndex(of: identity.identifier) ?? identity.accessGroups.endIndex
            keychainAccessGroups = Array(identity.accessGroups[..<own])
            applicationGroups = Array(identity.accessGroups[own...].dropFirst())
            faceIDUsageDescription = identity.faceIDUsageDescription
        }

        var value: AppIdentity {
            AppIdentity(
                identifier: identity.identifier, evidence: identity.evidence, name: identity.name,
                processID: identity.processID, userID: identity.userID, executableDigest: identity.executableDigest,
                keychainAccessGroups: keychainAccessGroups, applicationGroups: applicationGroups,
                faceIDUsageDescription: faceIDUsageDescription)
        }
    }

    var identity: Identity?
    var origin: ProcessOrigin?
}

enum PeerMessage {
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
package func answerPeerQuestions(
    on socket: Int32, manifests: AppManifests, report: @escaping @Sendable (String) -> Void
) {
    defer { close(socket) }
    var sources: [UInt32: PeerIdentities] = [:]
    while let (question, descriptor) = PeerMessage.receive(PeerQuestion.self, from: socket) {
        guard descriptor >= 0 else { return }
        var watch: Int32 = -1
        defer { if watch >= 0 { close(watch) } }
        var answer = PeerAnswer()
        switch question.kind {
        case .watch:
            // Read only for whether it can be: it ends with the program's memory, at its end or when it executes another.
            watch = unsafe open("/proc/\(question.processID)/pagemap", O_RDONLY | O_CLOEXEC)
            // Alive still, so that the number was its own when that was opened.
            if watch >= 0, !touchstone_pidfd_alive(descriptor) {
                close(watch)
                watch = -1
            }
            close(descriptor)
        case .identify, .origin:
            let source =
                sources[question.ownerID]
                ?? PeerIdentities(ownerID: question.ownerID, manifests: manifests, report: report)
            sources = [question.ownerID: source]
            let peer = source.peer(processID: question.processID, userID: question.userID, descriptor: descriptor)
            if question.kind == .identify {
                answer.identity = peer.identify().map(PeerAnswer.Identity.init)
            } else {
                answer.origin = peer.origin()
            }
        }
        guard PeerMessage.send(answer, watch, to: socket) else { return }
    }
}
