import Glibc
import NIOCore

/// An IP address, however it was written.
///
/// For IPv4 in IPv6 (`::ffff:192.0.2.1`) it is the IPv4.
struct IPAddress: Hashable, Sendable {
    /// 4 bytes, or 16, as they are on the wire.
    private let bytes: [UInt8]

    /// Nil if it is not an address, or one of another family.
    init?(_ address: SocketAddress?) {
        switch address {
        // Bytes 4 to 7 of a sockaddr_in, and 8 to 23 of a sockaddr_in6 (RFC 3493): which module its members belong to differs
        // from build to build.
        case .v4(let address): self = unsafe withUnsafeBytes(of: address.address) { unsafe Self(Array($0[4..<8])) }
        case .v6(let address): self = unsafe withUnsafeBytes(of: address.address) { unsafe Self(Array($0[8..<24])) }
        default: return nil
        }
    }

    init?(_ text: some StringProtocol) {
        let text = String(text)
        var bytes = [UInt8](repeating: 0, count: 16)
        if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
            self.init(Array(bytes.prefix(4)))
        } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
            self.init(bytes)
        } else {
            return nil
        }
    }

    private init(_ bytes: [UInt8]) {
        let isMapped =
            bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10...11].allSatisfy { $0 == 255 }
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    /// What counts as one client: an IPv6 subscriber has 64 bits of addresses.
    var network: String {
        bytes.count == 4
            ? bytes.map { String($0) }.joined(separator: ".")
            : bytes.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
    }
}
