import Foundation
import Synchronization

/// As much of a Varlink client as the owner's hands need.
final class VarlinkConnection: Sendable {
    struct Reply: Decodable {
        struct Parameters: Decodable {
            struct Prompt: Decodable { var identifier: String }
            var event: String?
            var prompt: Prompt?
        }
        var parameters: Parameters?
        var error: String?
        var event: String? { parameters?.event }
        /// The identifier of the prompt that it is about.
        var prompt: String? { parameters?.prompt?.identifier }
    }

    struct Refused: Error { var name: String }

    /// The device that this run is about.
    static var device: String { ProcessInfo.processInfo.environment["TOUCHSTONE_DEVICE"] ?? "default" }

    private let socket: UnixSocket
    /// What came behind the last message: an agent's events may arrive together.
    private let unread = Mutex(Data())

    init(device: String) throws {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        socket = try UnixSocket(path: "\(runtime)/touchstone/\(device)/touchstoned.sock")
    }

    /// A connection to a device that is about to boot.
    static func whenAccepted(device: String) throws -> VarlinkConnection {
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            if let connection = try? VarlinkConnection(device: device) { return connection }
            usleep(200)
        }
        throw UnixSocket.Closed()
    }

    @discardableResult
    func call(_ method: String, _ parameters: [String: String] = [:]) throws -> Reply {
        try send(method, parameters)
        let reply = try receive()
        if let error = reply.error { throw Refused(name: error) }
        return reply
    }

    func send(_ method: String, _ parameters: [String: String] = [:], more: Bool = false) throws {
        struct Request: Encodable {
            var method: String
            var parameters: [String: String]
            var more: Bool?
        }
        let request = Request(method: method, parameters: parameters, more: more ? true : nil)
        try socket.send(try JSONEncoder().encode(request) + [0])
    }

    /// Reads one of the passwords of `Item`, without any of our library.
    func read(account: String) throws {
        try call("CopyMatching", "query", account, #","r_Data":{"boolean":true}"#)
    }

    /// Adds a password such as those of `Item`.
    func add(account: String) throws {
        let secret = Data(repeating: 0x5A, count: 64).base64EncodedString()
        try call("Add", "attributes", account, #","v_Data":{"data":"\#(secret)"}"#)
    }

    func delete(account: String) throws { try call("Delete", "query", account, "") }

    /// Makes a call of the keychain's about one of the passwords of `Item`.
    private func call(_ method: String, _ parameter: String, _ account: String, _ more: String) throws {
        let message = """
            {"method":"io.touchstone.Keychain.\(method)","parameters":{"\(parameter)":{"class":{"string":"genp"},\
            "svce":{"string":"benchmark"},"acct":{"string":"\(account)"}\(more)}}}
            """
        try socket.send(Data(message.utf8) + [0])
        if let error = try receive().error { throw Refused(name: error) }
    }

    /// The next message.
    func receive() throws -> Reply {
        let message = try unread.withLock { unread in
            while true {
                if let end = unread.firstIndex(of: 0) {
                    defer { unread = Data(unread[(end + 1)...]) }
                    return Data(unread[..<end])
                }
                unread += try socket.receive(upTo: 65_536)
            }
        }
        return try JSONDecoder().decode(Reply.self, from: message)
    }

    func close() { socket.shutDown() }
}
