import Foundation
import Synchronization

@testable import SSHAgent

/// A device as far as the agent calls one, in this process: the owner says yes or no, and what was approved is known.
final class OwnersDevice: Sendable {
    /// For what a signature is asked.
    struct Wish: Hashable {
        var key: Int
        /// A host, or a namespace; nil where nobody knows.
        var destination: String?
        var user: String?
        /// The hosts that may ask, the one next to here first.
        var origins: [Int] = []
    }

    struct State {
        /// What the owner is about to be asked, and what they say.
        var wish: Wish?
        var approves = false
        /// How they say no: by a cancel, or by no finger that is theirs.
        var cancels = false
        /// Whether it has to be unlocked first, and how often the owner was asked to: they say the same to that.
        var isLocked = false
        var unlocks = 0
        /// Done while a prompt is up.
        var during: (@Sendable () -> Void)?
        /// What the owner read.
        var prompts: [Prompt] = []
        /// What was approved in each context.
        var approved: [String: Wish] = [:]
        /// Signatures since the last look: whether the owner was asked for it, and whether it is the one that is wished.
        var signatures: [(wasAsked: Bool, isWished: Bool)] = []
    }

    /// A sentence, and the facts by their kinds.
    struct Prompt {
        var reason: String
        var facts: [String: String]
    }

    private static let count = Atomic(0)
    let name = "model-\(getpid())-\(count.add(1, ordering: .relaxed).newValue)"
    let state = Mutex(State())
    private let records: [Data]
    private let listener: Int32

    /// - Parameter keys: The keys that its keychain holds.
    /// - Throws: What stands in the way of its socket.
    init(keys: [KeyRecord]) throws {
        records = try keys.map { try JSONEncoder().encode($0) }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ts-\(getpid())")
        let place = folder.appendingPathComponent("touchstone/\(name)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        setenv("XDG_RUNTIME_DIR", folder.path, 1)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(place.appendingPathComponent("touchstoned.sock").path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.prefix(107)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard path.count <= 107, result == 0, listen(descriptor, 64) == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        listener = descriptor
        // Until the process ends.
        Thread.detachNewThread { [self] in
            while true {
                let accepted = accept(descriptor, nil, nil)
                guard accepted >= 0 else { continue }
                Thread.detachNewThread { [self] in
                    serve(accepted)
                    close(accepted)
                }
            }
        }
    }

    private func serve(_ connection: Int32) {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = recv(connection, &room, room.count, 0)
            guard count > 0 else { return }
            bytes += room.prefix(count)
            while let end = bytes.firstIndex(of: 0) {
                let call = try? JSONSerialization.jsonObject(with: Data(bytes[..<end])) as? [String: Any]
                bytes.removeSubrange(...end)
                guard let call, let method = call["method"] as? String,
                    var reply = try? JSONSerialization.data(
                        withJSONObject: answer(method, call["parameters"] as? [String: Any] ?? [:]))
                else { return }
                reply.append(0)
                guard
                    reply.withUnsafeBytes({ send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
                        == reply.count
                else { return }
            }
        }
    }

    private func answer(_ method: String, _ parameters: [String: Any]) -> [String: Any] {
        switch method.dropFirst("io.touchstone.".count) {
        case "Keychain.CopyMatching":
            let query = parameters["query"] as? [String: [String: Any]]
            let isKeys = query?["svce"]?["string"] as? String == "io.touchstone.ssh.key"
            return ["parameters": ["items": isKeys ? records.map { ["data": $0.base64EncodedString()] } : []]]
        case "Authentication.CreateContext": return ["parameters": ["context": UUID().uuidString]]
        case "Authentication.DescribeClient": return ["parameters": ["app": ["identifier": "agent"]]]
        case "Authentication.RequestUnlock":
            let approves = state.withLock { state in
                state.unlocks += 1
                if state.approves { state.isLocked = false }
                return state.approves
            }
            return approves ? ["parameters": [:]] : Self.cancelled("Authentication")
        case "Keychain.Update": return ["parameters": [:]]
        case "Key.Sign": return sign(parameters)
        default: return ["error": "org.varlink.service.MethodNotFound", "parameters": ["method": method]]
        }
    }

    private static func cancelled(_ interface: String) -> [String: Any] {
        ["error": "io.touchstone.\(interface).Failed", "parameters": ["code": -2, "reason": "ownerCancelled"]]
    }

    private func sign(_ parameters: [String: Any]) -> [String: Any] {
        let context = parameters["context"] as? String ?? ""
        let key = (parameters["key"] as? String).flatMap { Data(base64Encoded: $0) }?.first.map(Int.init)
        let options = parameters["options"] as? [String: Any]
        let wasAsked = options != nil
        guard !state.withLock({ $0.isLocked }) else {
            return ["error": "io.touchstone.Key.Failed", "parameters": ["status": -25308, "reason": "deviceLocked"]]
        }
        if let options {
            let facts = (options["facts"] as? [[String: String]] ?? []).map { ($0["kind"] ?? "", $0["text"] ?? "") }
            let prompt = Prompt(
                reason: options["reason"] as? String ?? "", facts: Dictionary(facts) { first, _ in first })
            let during = state.withLock { state in
                state.prompts.append(prompt)
                return state.during
            }
            during?()
        }
        let isSigned = state.withLock { state in
            guard wasAsked ? state.approves : state.approved[context] != nil else { return false }
            if wasAsked { state.approved[context] = state.wish }
            let isWished = state.wish?.key == key && state.approved[context] == state.wish
            state.signatures.append((wasAsked, isWished))
            return true
        }
        guard isSigned else {
            if wasAsked, state.withLock({ $0.cancels }) { return Self.cancelled("Key") }
            return [
                "error": "io.touchstone.Key.Failed",
                "parameters": wasAsked
                    ? ["code": -1, "reason": "authenticationFailed"]
                    : ["status": -25308, "reason": "interactionForbidden"],
            ]
        }
        return ["parameters": ["signature": Data(repeating: 1, count: 64).base64EncodedString()]]
    }
}
