internal import CTouchstoneSystem
internal import Foundation
import Glibc
internal import Synchronization

/// Why nobody can connect.
public enum ListenError: Error, Hashable, Sendable {
    /// Another program answers there.
    case taken
    /// What stands at the path is no socket of this user's.
    case occupied
    /// A path of a socket has at most 107 bytes.
    case tooLong
    /// systemd passed something else than one listening Unix socket.
    case notASocket
    /// Neither a person nor systemd said where.
    case nowhere
    /// The system refused it: the `errno`.
    case failed(Int32)
}

extension ListenError: CustomStringConvertible {
    /// For the person who started the program.
    public var description: String {
        switch self {
        case .taken: "another program listens there already; end it, or choose another path"
        case .occupied: "a file there is not a socket of yours; remove it, or choose another path"
        case .tooLong: "the path of a socket has at most 107 bytes"
        case .notASocket: "systemd passed no listening Unix socket"
        case .nowhere: "say where with --socket PATH, or have systemd pass a socket"
        case .failed(let code): unsafe String(cString: strerror(code))
        }
    }
}

/// A Unix socket on which clients connect: one thread for each connection.
public final class ClientListener: Sendable {
    private let descriptor: Int32
    /// The socket's file, where this program made it.
    private let path: String?
    private let places = Mutex(ClientPlaces<ClientProcess, ExecutedFile>())

    private static let stackSize = 512 << 10

    /// Makes a socket, for this user only.
    ///
    /// - Parameter path: Where. A socket on which nobody listens any more is replaced.
    /// - Throws: `ListenError`.
    public init(path: String) throws(ListenError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= 107 else { throw .tooLong }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .failed(errno) }
        self.path = path
        do throws(ListenError) {
            let mask = umask(0o177)
            defer { umask(mask) }
            if unsafe Self.call(bind, descriptor, address) != 0 {
                guard errno == EADDRINUSE else { throw .failed(errno) }
                try Self.removeDead(path, address)
                guard unsafe Self.call(bind, descriptor, address) == 0 else { throw .failed(errno) }
            }
            // Before anybody connects: a message that came between accept and this would be nobody's (BR-12).
            guard touchstone_pass_credentials(descriptor) == 0, listen(descriptor, SOMAXCONN) == 0 else {
                throw .failed(errno)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Makes the directory of a socket, for this user only, if it is not there.
    ///
    /// Without it nobody can listen, and that says why.
    static func makeDirectory(of path: String) {
        try? FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    /// Takes the socket that systemd listens on for this program; nil if it passed none.
    public static func activated() throws(ListenError) -> ClientListener? {
        let environment = ProcessInfo.processInfo.environment
        guard environment["LISTEN_PID"] == "\(getpid())", environment["LISTEN_FDS"] == "1" else { return nil }
        return try ClientListener(descriptor: 3)
    }

    private init(descriptor: Int32) throws(ListenError) {
        self.descriptor = descriptor
        path = nil
        guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1, Self.option(SO_DOMAIN, of: descriptor) == AF_UNIX else {
            throw .notASocket
        }
        guard touchstone_pass_credentials(descriptor) == 0 else { throw .failed(errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        Glibc.close(descriptor)
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32, _ address: sockaddr_un
    ) -> Int32 {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Removes a socket that nobody listens on.
    private static func removeDead(_ path: String, _ address: sockaddr_un) throws(ListenError) {
        var file = stat()
        guard unsafe lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFSOCK, file.st_uid == geteuid() else {
            throw .occupied
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { Glibc.close(probe) }
        guard unsafe call(connect, probe, address) != 0, errno == ECONNREFUSED else { throw .taken }
        unsafe unlink(path)
    }

    /// Accepts connections until the process ends.
    ///
    /// - Parameter serve: Serves one, on a thread of its own; the connection ends when it returns.
    public func run(_ serve: @escaping @Sendable (ClientConnection) -> Void) -> Never {
        while true {
            let accepted = accept(descriptor, nil, nil)
            guard accepted >= 0 else {
                // Out of descriptors, or of memory: those who are connected go first.
                if errno != EINTR, errno != ECONNABORTED { usleep(100_000) }
                continue
            }
            _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
            // Once more: the listening socket may have got it after somebody connected, and then not every kernel passes it on.
            guard touchstone_pass_credentials(accepted) == 0 else {
                touchstone_close_peer(accepted, nil, nil)
                continue
            }
            // Who must not connect, or is one too many, is closed without an answer (BR-7, BR-51).
            guard let connection = ClientConnection(descriptor: accepted), let place = enter(connection) else {
                continue
            }
            let thread = Thread { [self] in
                serve(connection)
                connection.close()
                places.withLock { $0.leave(place) }
                BridgeProcess.rests()
            }
            thread.stackSize = Self.stackSize
            thread.start()
        }
    }

    private func enter(_ connection: ClientConnection) -> UInt64? {
        places.withLock { places in
            places.enter(
                .init(process: connection.peerProcess, program: connection.executedFile) {
                    connection.waitsForClient
                } end: {
                    connection.close()
                })
        }
    }

    /// Removes the socket's file, if this program made it.
    public func remove() {
        if let path { unsafe unlink(path) }
    }
}
