import Glibc
import TouchstoneEnclave

/// The kernel's own random bytes: nothing of them is kept in this process, nor shared with a fork of it.
package struct KernelRandomness: RandomSource {
    package init() {}

    package func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: rest.prefix(Self.longest))
            // It waits until the kernel has collected enough, once after the machine started.
            guard unsafe getentropy(part.baseAddress!, part.count) == 0 else {
                fatalError("the kernel gives no random bytes")
            }
            unsafe rest = rest.dropFirst(part.count)
        }
    }

    /// Bytes that getentropy(3) gives at a time.
    private static let longest = 256
}
