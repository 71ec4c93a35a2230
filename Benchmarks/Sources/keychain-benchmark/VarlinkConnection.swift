import Foundation

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
        let message = """
            {"method":"io.touchstone.Keychain.CopyMatching","parameters":{"query":{"class":{"string":"genp"},\
            "svce":{"string":"benchmark"},"acct":{"string":"\(account)"},"r_Data":{"boolean":true}}}}
            """
        try socket.send(Data(message.utf8) + [0])
        if let error = try receive().error { throw Refused(name: error) }
    }

    /// The next message.
    ///
    /// The other side sends none unasked but an agent's events, and of those one at a time.
    func receive() throws -> Reply {
        var message = Data()
        while message.last != 0 { message += try socket.receive(upTo: 65_536) }
        return try JSONDecoder().decode(Reply.self, from: message.dropLast())
    }

    func close() { socket.shutDown() }
}
