import Foundation
import Glibc
import Testing

@testable import TouchstoneSensors

/// A program that is not a bus: nobody waits for it, and nothing that it sends does harm.
@Suite struct MessageBusTests {
    /// A Unix socket that answers whoever connects with these bytes, and then is silent.
    private final class Impostor {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("bus-\(UUID().uuidString.prefix(8))")
            .path
        private let descriptor: Int32

        init(_ bytes: Data) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let size = socklen_t(MemoryLayout<sockaddr_un>.size)
            let isBound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
            }
            try #require(isBound && listen(descriptor, 4) == 0)
            let listening = descriptor
            Thread {
                while true {
                    let connection = accept(listening, nil, nil)
                    guard connection >= 0 else { return }
                    bytes.withUnsafeBytes { _ = send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                }
            }.start()
        }

        deinit {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
            unlink(path)
        }
    }

    @Test("a bus that is not there, or has an impossible name, is disconnected")
    func absent() {
        for path in ["/nowhere/bus", "", String(repeating: "x", count: 500)] {
            #expect(throws: MessageBus.Failure.disconnected) { try MessageBus(path: path, within: 0.1) }
        }
    }

    @Test("a bus that says nothing is late")
    func silent() throws {
        let impostor = try Impostor(Data())
        #expect(throws: MessageBus.Failure.late) { try MessageBus(path: impostor.path, within: 0.1) }
    }

    @Test("a bus that talks nonsense is disconnected, or late, and nothing else", arguments: 0..<40)
    func garbage(seed: Int) throws {
        var state = UInt64(seed)
        var bytes = Data()
        // Half of them get past the greeting.
        if seed.isMultiple(of: 2) { bytes += Data("DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n".utf8) }
        if seed.isMultiple(of: 4) { bytes += Data([UInt8(ascii: "l"), 2, 1, 1]) }
        bytes += Data(
            (0..<4000).map { _ in
                // The high bits of a linear congruential generator: the same bytes for the same seed.
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            })
        let impostor = try Impostor(bytes)
        do {
            _ = try MessageBus(path: impostor.path, within: 0.1)
            Issue.record("connected")
        } catch {
            #expect(error == .disconnected || error == .late)
        }
    }
}
