import Foundation
import Glibc
import Testing

@testable import BridgeBus

@Suite struct BusDescriptorTests {
    @Test("DEC-595: a socket that its sender lets linger for an hour is closed at once") func lingers() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let sender = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0 && connect(sender, address, length) == 0
            }
        }
        try #require(isConnected)
        var patience = linger(l_onoff: 1, l_linger: 3600)
        setsockopt(sender, SOL_SOCKET, SO_LINGER, &patience, socklen_t(MemoryLayout<linger>.size))
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while send(sender, bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        let last = Last(descriptor: BusDescriptor(copying: sender))
        try #require(last.descriptor != nil)
        close(sender)
        let closed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            last.descriptor = nil
            closed.signal()
        }
        #expect(closed.wait(timeout: .now() + 120) == .success)
    }

    /// The last reference to a descriptor.
    private final class Last: @unchecked Sendable {
        // Unchecked: one thread has it after the other.
        var descriptor: BusDescriptor?

        init(descriptor: BusDescriptor?) { self.descriptor = descriptor }
    }
}
