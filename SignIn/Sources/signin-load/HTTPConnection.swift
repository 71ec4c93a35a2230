import Foundation
import Glibc

/// One connection to a server on 127.0.0.1 that is kept, and blocks: of one thread.
///
/// As little HTTP as that server speaks, so
/// that the load costs little beside what it measures.
final class HTTPConnection {
    struct Answer {
        var status: Int
        var body: Data
    }

    /// The connection broke or nothing came: the request may or may not have been done.
    struct Broken: Error {}

    /// Seconds.
    static let timeout = 15
    static let longestAnswer = 8 << 20

    let port: UInt16
    /// Whom the connection comes from, for a server that believes this machine to be its proxy: as many users as connections.
    private let address = "10." + (0..<3).map { _ in "\(UInt8.random(in: 0...255))" }.joined(separator: ".")
    private var socket: Int32 = -1

    init(port: UInt16) { self.port = port }

    deinit { close() }

    func close() {
        if socket >= 0 { Glibc.close(socket) }
        socket = -1
    }

    func request(_ method: String, _ path: String, _ body: Data?, bearer: String? = nil) throws -> Answer {
        do {
            if socket < 0 { try connect() }
            var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX-Forwarded-For: \(address)\r\n"
            if let bearer { head += "Authorization: Bearer \(bearer)\r\n" }
            if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n" }
            try send(Data((head + "\r\n").utf8) + (body ?? Data()))
            return try receive()
        } catch {
            close()
            throw error
        }
    }

    private func connect() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw Broken() }
        var limit = timeval(tv_sec: Self.timeout, tv_usec: 0)
        var on: Int32 = 1
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let result = unsafe withUnsafePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Broken() }
    }

    private func send(_ data: Data) throws {
        try unsafe data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = unsafe Glibc.send(
                    socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { throw Broken() }
                sent += count
            }
        }
    }

    private func receive() throws -> Answer {
        var buffer = Data()
        var headEnd: Data.Index?
        var length = 0
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = unsafe recv(socket, &chunk, chunk.count, 0)
            guard count > 0, buffer.count < Self.longestAnswer else { throw Broken() }
            buffer.append(contentsOf: chunk[0..<count])
            if headEnd == nil, let range = buffer.range(of: Data("\r\n\r\n".utf8)) {
                headEnd = range.upperBound
                for line in String(decoding: buffer[..<range.lowerBound], as: UTF8.self).split(separator: "\r\n") {
                    let parts = line.split(separator: ":", maxSplits: 1)
                    if parts.count == 2, parts[0].lowercased() == "content-length" {
                        length = Int(parts[1].trimmingCharacters(in: .whitespaces)) ?? 0
                    }
                }
            }
            if let headEnd, buffer.count >= headEnd + length {
                // "HTTP/1.1 200 OK"
                guard let status = Int(String(decoding: buffer[9..<12], as: UTF8.self)) else { throw Broken() }
                return Answer(status: status, body: buffer[headEnd..<(headEnd + length)])
            }
        }
    }
}
