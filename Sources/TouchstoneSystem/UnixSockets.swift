import Glibc

/// Sockets at which somebody listens, by the kernel's list: nobody who would answer, or start something for it, is asked.
package enum UnixSockets {
    /// Whether somebody listens at this path; false where the kernel's list cannot be read.
    package static func isListening(at path: String) -> Bool {
        String(decoding: list, as: UTF8.self).split(separator: "\n").contains { line in
            // Number, references, protocol, flags, type, state, inode, path.
            let fields = line.split(separator: " ", maxSplits: 7)
            guard fields.count == 8, fields[7] == path, let flags = UInt32(fields[3], radix: 16) else { return false }
            return flags & acceptsConnections != 0
        }
    }

    /// All of it: the kernel gives a part at each read, so that Foundation would stop after the first.
    private static var list: [UInt8] {
        let descriptor = unsafe open("/proc/net/unix", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var (list, part): ([UInt8], [UInt8]) = ([], .init(repeating: 0, count: 1 << 16))
        while list.count < maximumBytes {
            let count = unsafe read(descriptor, &part, part.count)
            guard count > 0 else { break }
            list += part[..<count]
        }
        return list
    }

    private static let maximumBytes = 16 << 20
    /// The kernel's `__SO_ACCEPTCON`.
    private static let acceptsConnections: UInt32 = 1 << 16
}
