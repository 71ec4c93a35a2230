import Synchronization

@testable import TouchstoneEnclave

/// The same bytes for the same seed, everywhere.
final class SeededRandomness: RandomSource {
    private let generator: Mutex<SplitMix>
    private let drawn = Mutex(0)
    /// Bytes that were asked for.
    var count: Int { drawn.withLock { $0 } }

    init(_ seed: Int) { generator = Mutex(SplitMix(state: UInt64(seed))) }

    func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        drawn.withLock { $0 += bytes.count }
        generator.withLock { generator in
            for index in bytes.indices { unsafe bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
        }
    }
}

/// A generator whose numbers are the same for the same seed, everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
