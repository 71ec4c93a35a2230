import Dispatch
import Foundation
import Security
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

@testable import TouchstoneKeychain
@testable import TouchstoneTesting

/// An item that is added is sealed before its transaction, so that the enclave and the disk work at the same time (DEC-211).
@Suite(.timeLimit(.minutes(10))) struct SealedBeforeTests {
    private let device: FileDevice
    private let told = Told()

    private final class Told: Sendable {
        let wraps = Atomic(0)
        /// Answers to requests to add, which the trace tells after all that was called for them.
        let answers = Atomic(0)
        let added = Mutex<OSStatus?>(nil)
        let mayGoOn = DispatchSemaphore(value: 0)
    }

    init() throws {
        device = try FileDevice()
        let (client, told) = (try device.device.client(), told)
        let isReady = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? client.stream(InspectorInterface.WatchMessages.self, Empty()) { reply in
                let calls = reply.messages.count { $0.outcome == nil && $0.method == "io.touchstone.Enclave.WrapKey" }
                let answers = reply.messages.count { $0.outcome != nil && $0.method == "io.touchstone.Keychain.Add" }
                told.wraps.add(calls, ordering: .sequentiallyConsistent)
                told.answers.add(answers, ordering: .sequentiallyConsistent)
                isReady.signal()
                return true
            }
        }
        isReady.wait()
    }

    private var wraps: Int { told.wraps.load(ordering: .sequentiallyConsistent) }
    private var answers: Int { told.answers.load(ordering: .sequentiallyConsistent) }

    /// Has every write wait until `told.mayGoOn`.
    private func holdWrites() {
        let isHeld = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [device, told] in
            try? device.store.write { _ in
                isHeld.signal()
                told.mayGoOn.wait()
            }
        }
        isHeld.wait()
    }

    private func beginAdding() {
        Thread.detachNewThread { [device, told] in
            let status = device.run { add(account("a").value("secret")) }
            told.added.withLock { $0 = status }
        }
    }

    private func endAdding() {
        told.mayGoOn.signal()
        eventually { told.added.withLock { $0 } != nil }
        #expect(told.added.withLock { $0 } == errSecSuccess)
        device.run { #expect(secret(account("a")) == "secret") }
    }

    @Test("An item is sealed while another write is on its way to the disk, and added after it") func sealedBefore() {
        holdWrites()
        beginAdding()
        eventually { wraps == 1 }
        #expect(told.added.withLock { $0 } == nil)
        endAdding()
        eventually { answers == 1 }
        #expect(wraps == 1)
    }

    @Test("PC-02: an item that was sealed before the items were erased is sealed anew") func erased() {
        holdWrites()
        Thread.detachNewThread { [device] in try? device.store.eraseItems() }
        eventually { device.store.commits.waiting == 1 }
        beginAdding()
        eventually { wraps == 1 }
        endAdding()
        eventually { wraps == 2 }
    }

    @Test("KC-30: nothing is sealed for an item that is there already") func duplicate() {
        device.run {
            #expect(add(account("a").value("secret")) == errSecSuccess)
            #expect(add(account("a").value("other")) == errSecDuplicateItem)
            #expect(add(account("b").value("secret")) == errSecSuccess)
        }
        eventually { answers == 3 }
        #expect(wraps == 2)
    }
}
