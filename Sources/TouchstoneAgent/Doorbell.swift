internal import Glibc

/// Wakes a thread that waits in `poll`.
struct Doorbell: ~Copyable {
    /// Readable from ``ring()`` to ``answer()``.
    let descriptor: Int32
    private let writing: Int32

    /// - Throws: `AgentError.system`.
    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw AgentError.system(errno) }
        descriptor = ends[0]
        writing = ends[1]
    }

    deinit {
        close(descriptor)
        close(writing)
    }

    /// From any thread.
    func ring() {
        // A full buffer wakes the reader as well.
        _ = unsafe write(writing, "\n", 1)
    }

    func answer() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
