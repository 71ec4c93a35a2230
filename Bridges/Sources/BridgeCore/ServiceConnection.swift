import Glibc

/// A connection to a bridge's socket, for the command beside it.
///
/// > Concurrency: For one thread at a time; every call blocks.
public final class ServiceConnection {
    private let descriptor: Int32

    /// - Parameter path: Of the socket.
    /// - Throws: `ConnectionEnd.closed`: nobody listens there.
    public init(path: String) throws(ConnectionEnd) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= 107 else { throw .closed }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let isConnected = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { throw .closed }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a message, and reads the answer.
    ///
    /// - Parameters:
    ///   - message: All of it.
    ///   - longest: The most bytes that an answer has.
    ///   - length: How long the answer is that begins with these bytes.
    /// - Throws: `ConnectionEnd`.
    public func exchange(
        _ message: [UInt8], longest: Int, _ length: ([UInt8]) -> MessageLength
    ) throws(ConnectionEnd) -> [UInt8] {
        var sent = 0
        while sent < message.count {
            let count = unsafe message.withUnsafeBytes { all in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: all[sent...])
                return unsafe send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw .closed }
            sent += count
        }
        var answer: [UInt8] = []
        while true {
            switch length(answer) {
            case .bytes(let count) where (1...longest).contains(count):
                if answer.count >= count { return Array(answer.prefix(count)) }
            case .unknown where answer.count <= longest: break
            default: throw .malformed
            }
            var count = 0
            let more = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { room, initialized in
                count = unsafe recv(descriptor, room.baseAddress, room.count, 0)
                initialized = max(0, count)
            }
            guard count > 0 else { throw .closed }
            answer += more
        }
    }
}
