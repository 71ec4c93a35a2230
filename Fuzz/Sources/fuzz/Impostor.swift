import Foundation
import Glibc

/// A Unix socket at which somebody answers by a script: one connection after another, on a thread of its own.
final class Impostor: @unchecked Sendable {
    // Unchecked: `answer` is set before a connection is made, and read by the thread that accepts it.
    let path: String
    private let descriptor: Int32
    private let lock = NSLock()
    private var answer: @Sendable (Int32) -> Void = { _ in }
    private let served = DispatchSemaphore(value: 0)

    init(_ name: String) {
        path = "/dev/shm/touchstone-fuzz-\(name)-\(getpid())"
        unlink(path)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        hold(isBound == 0 && listen(descriptor, 16) == 0, "no socket at \(path)")
        Thread { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { continue }
                let answer = lock.withLock { self.answer }
                answer(connection)
                shutdown(connection, Int32(SHUT_WR))
                drain(connection)
                close(connection)
                served.signal()
            }
        }.start()
    }

    /// Runs `body`, in which one connection is made and closed.
    func serve(_ answer: @escaping @Sendable (Int32) -> Void, _ body: () -> Void) {
        lock.withLock { self.answer = answer }
        body()
        served.wait()
    }
}

func give(_ connection: Int32, _ bytes: Data) {
    bytes.withUnsafeBytes { _ = send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
}

/// What came, at most 4,096 bytes; nil once the other end has closed.
func take(_ connection: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(connection, &bytes, bytes.count, 0)
    return count > 0 ? Array(bytes.prefix(count)) : nil
}

/// Reads until the other end closes.
private func drain(_ connection: Int32) {
    while take(connection) != nil {}
}
