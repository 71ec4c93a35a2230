import Foundation
import Glibc
import Synchronization

/// Listens on this machine and answers every connection with the bytes it was given, after one request.
///
/// For answers that no server of ours
/// would give; what a server does give is tested with the real one, in the package SignIn.
final class OddServer: Sendable {
    let url: URL
    private let socket: Int32
    private let log: Log

    private final class Log: Sendable {
        let heads = Mutex<[String]>([])
    }

    /// The heads of the requests so far.
    var requests: [String] { log.heads.withLock { $0 } }

    /// Answers each request by its head; nil to say nothing and keep the connection.
    init(_ answer: @escaping @Sendable (_ head: String) -> Data?) throws {
        let log = Log()
        self.log = log
        let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        socket = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw POSIXError(.EADDRNOTAVAIL)
        }
        self.url = url
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                let head = Self.head(connection)
                log.heads.withLock { $0.append(head) }
                guard let answer = answer(head) else { continue }
                answer.withUnsafeBytes { _ = send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    /// A whole answer.
    static func answer(_ status: String, _ body: String = "", _ headers: String = "") -> Data {
        Data(
            "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)Connection: close\r\n\r\n\(body)"
                .utf8)
    }

    private static func head(_ connection: Int32) -> String {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 65536 {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes.append(contentsOf: buffer[..<count])
            if isComplete(bytes) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isComplete(_ bytes: Data) -> Bool {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return false }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased()
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        return bytes.count - end.upperBound >= length ?? 0
    }
}
