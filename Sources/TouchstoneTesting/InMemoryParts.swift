import Crypto
import Foundation
import Synchronization
import TouchstoneEnclave
import TouchstoneMemory

/// The enclave's file, in memory.
final class MemoryStorage: EnclaveStorage {
    private let bytes = Mutex<Data?>(nil)

    func load() throws -> Data? { bytes.withLock { $0 } }
    func replace(_ bytes: Data) throws { self.bytes.withLock { $0 = bytes } }
}

/// A root of trust that lives as long as the test's device.
struct MemoryRoot: RootOfTrust {
    private let secret = SecretBytes.random(count: 32)

    let kind = "software"

    func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: secret.symmetricKey)
        code.update(data: Data("\(label.utf8.count) \(label)".utf8))
        code.update(data: input)
        return unsafe code.finalize().withUnsafeBytes { unsafe SecretBytes($0) }
    }
}

/// A clock that goes only when it is moved.
final class ManualClock: TimeSource {
    private let time = Mutex((now: 1000.0, date: Date(timeIntervalSinceReferenceDate: 800_000_000)))

    var now: Double { time.withLock { $0.now } }
    var date: Date { time.withLock { $0.date } }

    func advance(by duration: Duration) {
        let seconds = duration / .seconds(1)
        time.withLock { time in
            time.now += seconds
            time.date += seconds
        }
    }

    /// Another boot: its time begins anew.
    func restart() { time.withLock { $0.now = 0 } }
}

/// What a device's services say of its apps.
final class DeviceLog: Sendable {
    private let said = Mutex<[String]>([])

    var lines: [String] { said.withLock { $0 } }
    var report: @Sendable (String) -> Void { { [self] line in said.withLock { $0.append(line) } } }
}
