import Foundation
import Glibc
import PAMChallenge
import Synchronization
import TouchstoneDevice

/// The socket to the module: lines to it, and one secret from it.
///
/// > Concurrency: Callable from any thread.
final class HostChannel: Sendable {
    private static let descriptor: Int32 = 3
    private static let longestText = 480

    /// Says that the helper runs.
    init() { send("hello") }

    /// Ends the program once the module is gone, and with it the prompt (BR-28).
    func watch() {
        Thread.detachNewThread {
            var entry = pollfd(fd: Self.descriptor, events: 0, revents: 0)
            while unsafe poll(&entry, 1, -1) <= 0 {}
            _exit(1)
        }
    }

    /// Shows the person a line.
    func show(_ text: String) { send("text \(Self.printable(text))") }

    /// Shows the person why they are not asked, also where the host wants nothing shown.
    func explain(_ text: String) { send("error \(Self.printable(text))") }

    /// Writes a line into the system's log.
    func log(_ text: String) { send("log \(Self.printable(text))") }

    /// Says the result, and ends the program.
    func end(_ result: PAMResult) -> Never {
        send("result \(result.rawValue)")
        _exit(0)
    }

    /// The password that the module has (PM-25): 2 bytes of length, then so many.
    ///
    /// It is nil if it is longer than a passcode can be.
    func secret() -> PasscodeBuffer? {
        guard let high = byte(), let low = byte() else { return nil }
        let buffer = PasscodeBuffer()
        for _ in 0..<(Int(high) << 8 | Int(low)) {
            guard let next = byte(), !buffer.isTooLong else { return nil }
            buffer.append(next)
        }
        return buffer.isEmpty || buffer.isTooLong ? nil : buffer
    }

    /// One at a time, so that they are in the buffer alone.
    private func byte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe recv(Self.descriptor, &byte, 1, 0)
            if count < 0, errno == EINTR { continue }
            return count == 1 ? byte : nil
        }
    }

    private func send(_ line: String) {
        var bytes = ArraySlice("\(line)\n".utf8)
        while !bytes.isEmpty {
            let count = unsafe bytes.withUnsafeBytes { room in
                unsafe Glibc.send(Self.descriptor, room.baseAddress, room.count, Int32(MSG_NOSIGNAL))
            }
            // There is no module: nobody waits for anything.
            guard count > 0 else { _exit(1) }
            bytes = bytes.dropFirst(count)
        }
    }

    private static func printable(_ text: String) -> String {
        var kept = ""
        for scalar in text.unicodeScalars {
            let next = scalar.properties.generalCategory == .control ? "?" : String(scalar)
            guard kept.utf8.count + next.utf8.count <= longestText else { break }
            kept += next
        }
        return kept
    }
}
