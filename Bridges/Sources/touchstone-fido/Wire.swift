import CTAPHID
import Foundation
import Glibc

/// Where packets come from and go to.
protocol Wire {
    /// What to wait for.
    var descriptors: [Int32] { get }
    /// What has come at one of them. Never waits.
    mutating func read(_ descriptor: Int32) -> [WireEvent]
    mutating func send(_ packet: [UInt8])
    /// Has the authenticator be there, or not: without a passcode nobody can be verified (FD-11).
    mutating func appear(_ isThere: Bool)
}

enum WireEvent {
    case packet([UInt8])
    /// Nobody has the authenticator open any more.
    case closed
}

/// The kernel's uhid, which root opened and handed over as standard input (FD-1, FD-3).
struct KernelWire: Wire {
    let descriptor: Int32
    private var isThere = false

    /// nil: this is not a device of the kernel's.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFCHR,
            // Character device 10:239, as the kernel's list of devices has it.
            status.st_rdev == 10 << 8 | 239
        else { return nil }
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    var descriptors: [Int32] { [descriptor] }

    mutating func read(_ descriptor: Int32) -> [WireEvent] {
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: UHIDEvent.longest) { room, initialized in
            count = unsafe Glibc.read(descriptor, room.baseAddress, room.count)
            initialized = max(0, count)
        }
        guard count > 0, let event = UHIDEvent(bytes) else { return [] }
        if let refusal = event.refusal { write(refusal) }
        return switch event {
        case .output(let report): [.packet(report)]
        case .closed: [.closed]
        default: []
        }
    }

    mutating func send(_ packet: [UInt8]) {
        if isThere { write(UHIDEvent.input(packet)) }
    }

    mutating func appear(_ isThere: Bool) {
        guard isThere != self.isThere else { return }
        self.isThere = isThere
        write(isThere ? UHIDEvent.create(name: "Touchstone passkeys") : UHIDEvent.destroy)
    }

    private func write(_ event: [UInt8]) {
        _ = unsafe event.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// A socket in the place of a device: each connection has it open, and every packet goes to all of them, as with a real one (FD-41).
struct SocketWire: Wire {
    private let listener: Int32
    private var connections: [Int32] = []
    private var isThere = false
    private static let most = 32

    /// - Parameter path: Where; a socket that nobody listens on is replaced.
    /// - Throws: A sentence.
    init(path: String) throws(WireFailure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= 107 else { throw .init("a socket's path has at most 107 bytes") }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        listener = socket(AF_UNIX, kind, 0)
        let mask = umask(0o177)
        defer { umask(mask) }
        let isBound = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(listener, SOMAXCONN) == 0 else {
            throw .init("\(path): \(unsafe String(cString: strerror(errno)))")
        }
    }

    var descriptors: [Int32] { [listener] + connections }

    mutating func read(_ descriptor: Int32) -> [WireEvent] {
        guard descriptor != listener else {
            let accepted = accept(listener, nil, nil)
            guard accepted >= 0 else { return [] }
            guard isThere, connections.count < Self.most else {
                close(accepted)
                return []
            }
            _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
            _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
            connections.append(accepted)
            return []
        }
        var count = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 128) { room, initialized in
            count = unsafe recv(descriptor, room.baseAddress, room.count, 0)
            initialized = max(0, count)
        }
        if count < 0, errno == EAGAIN || errno == EINTR { return [] }
        guard count > 0 else { return end(descriptor) }
        return [.packet(bytes)]
    }

    private mutating func end(_ descriptor: Int32) -> [WireEvent] {
        close(descriptor)
        connections.removeAll { $0 == descriptor }
        return connections.isEmpty ? [.closed] : []
    }

    mutating func send(_ packet: [UInt8]) {
        for connection in connections {
            let count = unsafe packet.withUnsafeBytes {
                unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            // Who does not read loses the device, and nobody else waits.
            if count != packet.count { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    mutating func appear(_ isThere: Bool) {
        self.isThere = isThere
        guard !isThere else { return }
        for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
}

/// Why there is no wire: a sentence for whoever started the program.
struct WireFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
