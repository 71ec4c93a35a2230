import Foundation
import Glibc
import Synchronization
import Testing

/// A TPM as the kernel has it: a character device, at any path, with swtpm behind it.
final class CharacterDevice: Sendable {
    private let controller: Int32
    private let terminal: Int32
    private let state = Mutex((leaks: false, codes: [UInt32]()))

    /// Makes a symbolic link at `path`.
    init(at path: String, to tpm: String) throws {
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (locked, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN, which are macros.
        try #require(ioctl(controller, 0x4004_5431, &locked) == 0 && ioctl(controller, 0x8004_5430, &number) == 0)
        let name = "/dev/pts/\(number)"
        terminal = open(name, O_RDWR | O_NOCTTY)
        var settings = termios()
        tcgetattr(terminal, &settings)
        cfmakeraw(&settings)
        try #require(tcsetattr(terminal, TCSANOW, &settings) == 0 && symlink(name, path) == 0)
        Thread.detachNewThread { [self] in serve(tpm) }
    }

    func close() {
        Glibc.close(terminal)
        Glibc.close(controller)
    }

    /// Whether whoever ends leaves what it loaded, as one that crashes does.
    var leaks: Bool {
        get { state.withLock { $0.leaks } }
        set { state.withLock { $0 = (newValue, []) } }
    }
    /// Of the commands since `leaks` was set.
    var codes: [UInt32] { state.withLock { $0.codes } }

    private func serve(_ tpm: String) {
        var bytes: [UInt8] = []
        while true {
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = read(controller, &chunk, chunk.count)
            guard count > 0 else { return }
            bytes += chunk.prefix(count)
            guard bytes.count >= 10, bytes.count >= bytes[2..<6].reduce(0, { $0 << 8 | Int($1) }) else { continue }
            let code = bytes[6..<10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let isLost = state.withLock { state in
                state.codes.append(code)
                return state.leaks && code == Self.flush
            }
            let answer = isLost ? [0x80, 0x01, 0, 0, 0, 10, 0, 0, 0, 0] : Relay.ask(tpm, bytes)
            bytes = []
            guard write(controller, answer, answer.count) == answer.count else { return }
        }
    }

    static let flush: UInt32 = 0x165
}
