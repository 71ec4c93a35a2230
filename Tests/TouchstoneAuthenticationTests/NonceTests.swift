import Foundation
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneTesting

/// A nonce is good on the connection that it was given out on, whatever goes on beside it.
@Suite(.timeLimit(.minutes(10))) struct NonceTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try device.lock()
    }

    private func client() throws -> VarlinkClient { try device.booted.withLock { $0 }.client() }

    private func nonce(_ client: VarlinkClient) throws -> Data {
        try client.call(DeviceInterface.GetNonce.self, Empty()).nonce
    }

    /// Whether the passcode, sealed with this nonce, opens the lock screen; nil: the nonce is worth nothing.
    private func unlocks(_ client: VarlinkClient, _ nonce: Data, _ passcode: String = "1234") throws -> Bool? {
        let sealed = try device.booted.withLock { $0 }.seal([passcode], for: .unlock, nonce: nonce)
        do {
            _ = try client.call(DeviceInterface.Unlock.self, .init(passcode: sealed))
            return true
        } catch let error as RemoteError {
            if error.as(DeviceInterface.Refused.self)?.reason == .staleNonce { return nil }
            return false
        }
    }

    @Test("10,000 nonces for others between the owner's nonce and its use take nothing from it")
    func flood() throws {
        let owner = try client()
        let mine = try nonce(owner)
        // Some that stay, and many that come and go.
        let others = try (0..<100).map { _ in try client() }
        for other in others { for _ in 0..<50 { _ = try nonce(other) } }
        for _ in 0..<5000 {
            let other = try client()
            _ = try nonce(other)
            other.close()
        }
        #expect(try unlocks(owner, mine) == true)
    }

    @Test("A nonce of another connection is refused; of its own it is taken")
    func otherConnection() throws {
        let (first, second) = (try client(), try client())
        let mine = try nonce(first)
        #expect(try unlocks(second, mine) == nil)
        #expect(try unlocks(first, mine) == true, "nor did the other use it up")
    }
}
