import Foundation

/// As much of a Varlink client as the owner's hands need.
final class VarlinkConnection: Sendable {
    struct Reply: Decodable {
        struct Parameters: Decodable { var event: String? }
        var parameters: Parameters?
        var error: String?
        var event: String? { parameters?.event }
    }

    enum Failure: Error {
        case closed
        case refused(String)
    }

    private let socket: Int32

    init(device: String) throws {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())"
        let path = "\(runtime)/touchstone/\(device)/touchstoned.sock"

        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            Glibc.close(socket)
            throw Failure.closed
        }
        self.socket = socket
    }

    /// A connection to a device that is about to boot.
    static func whenAccepted(device: String) throws -> VarlinkConnection {
        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            if let connection = try? VarlinkConnection(device: device) { return connection }
            usleep(200)
        }
        throw Failure.closed
    }

    @discardableResult
    func call(_ method: String, _ parameters: [String: String] = [:]) throws -> Reply {
        try send(method, parameters)
        let reply = try receive()
        if let error = reply.error { throw Failure.refused(error) }
        return reply
    }

    func send(_ method: String, _ parameters: [String: String] = [:], more: Bool = false) throws {
        struct Request: Encodable {
            var method: String
            var parameters: [String: String]
            var more: Bool?
        }
        let request = Request(method: method, parameters: parameters, more: more ? true : nil)
        let message = try JSONEncoder().encode(request) + [0]
        let sent = message.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == message.count else { throw Failure.closed }
    }

    /// The next message.
    ///
    /// The other side sends none unasked but an agent's events, and of those one at a time.
    func receive() throws -> Reply {
        var message = Data()
        var byte: UInt8 = 0
        while true {
            guard recv(socket, &byte, 1, 0) == 1 else { throw Failure.closed }
            guard byte != 0 else { break }
            message.append(byte)
        }
        return try JSONDecoder().decode(Reply.self, from: message)
    }

    func close() { shutdown(socket, Int32(SHUT_RDWR)) }
}
