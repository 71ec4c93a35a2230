import Foundation

/// A connected stream socket, closed when it goes.
final class UnixSocket: Sendable {
    struct Closed: Error {}

    private let descriptor: Int32

    init(path: String) throws {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            close(descriptor)
            throw Closed()
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func send(_ bytes: Data) throws {
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard sent == bytes.count else { throw Closed() }
    }

    /// What there is, at most `count` bytes; waits for the first.
    func receive(upTo count: Int) throws -> Data {
        var bytes = Data(count: count)
        let received = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, count, 0) }
        guard received > 0 else { throw Closed() }
        return bytes.prefix(received)
    }

    /// Wakes whoever waits for more.
    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
