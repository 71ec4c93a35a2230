package import Foundation
import SyncStores

/// Heads and links in a store, whose records are multiples of 256 bytes: their length (4 bytes, little-endian), they themselves, zeros.
///
/// A record has such a size already, and stays as it is.
package enum PaddedBytes {
    package static func padded(_ bytes: Data) -> Data {
        var padded = Data()
        for shift in stride(from: 0, to: 32, by: 8) { padded.append(UInt8(truncatingIfNeeded: bytes.count >> shift)) }
        padded += bytes
        let step = StoreLimits.padding
        return padded + Data(count: (step - padded.count % step) % step)
    }

    /// Nil for what `padded` does not make.
    package static func content(of padded: Data) -> Data? {
        guard padded.count >= 4 else { return nil }
        let count = padded.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let rest = padded.dropFirst(4)
        guard count <= rest.count else { return nil }
        let content = Data(rest.prefix(count))
        return self.padded(content) == padded ? content : nil
    }
}
