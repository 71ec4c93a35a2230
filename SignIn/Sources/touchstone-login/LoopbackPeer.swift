import Foundation
import NIOCore

/// The user whose program is at the other end of a connection over 127.0.0.1, from the kernel's table of sockets.
enum LoopbackPeer {
    /// The user of the socket that `local` is connected to; nil if there is none that is open both ways.
    ///
    /// Blocks for as long as the table is read.
    static func user(local: SocketAddress?, remote: SocketAddress?) -> uid_t? {
        guard let own = end(local), let other = end(remote) else { return nil }
        // The table is read in pieces, between which an entry can move past the reader.
        for _ in 0..<2 {
            if let user = user(in: "/proc/net/tcp", from: other, to: own) { return user }
            // A program may come by a socket of IPv6, to an address of IPv4.
            if let user = user(in: "/proc/net/tcp6", from: mapped + other, to: mapped + own) { return user }
        }
        return nil
    }

    private static let mapped = "0000000000000000FFFF0000"
    /// `TCP_ESTABLISHED`: a socket that its program has closed shows user 0, not the program's user.
    private static let established = "01"

    /// As the table spells an address and a port.
    private static func end(_ address: SocketAddress?) -> String? {
        guard case .v4(let address) = address else { return nil }
        // Bytes 2 to 7 of a sockaddr_in (RFC 3493): which module its members belong to differs from build to build.
        return unsafe withUnsafeBytes(of: address.address) { bytes in
            let port = unsafe UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            let host = unsafe bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
            return String(format: "%08X:%04X", host, UInt32(port))
        }
    }

    private static func user(in path: String, from peer: String, to own: String) -> uid_t? {
        guard let table = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(table) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { unsafe free(line) }
        while unsafe getline(&line, &capacity, table) > 0 {
            guard let line = unsafe line else { break }
            // sl, local_address, rem_address, st, queues, timer, retrnsmt, uid
            let fields = unsafe String(cString: line).split(whereSeparator: \.isWhitespace)
            if fields.count > 7, fields[1] == peer, fields[2] == own, fields[3] == established {
                return uid_t(fields[7])
            }
        }
        return nil
    }
}
