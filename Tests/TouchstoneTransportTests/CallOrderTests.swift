import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface

@testable import TouchstoneTransport

/// Who has the connection to the enclave next.
@Suite struct CallOrderTests {
    @Test("DEC-579: a call about a prompt goes before 50 about items that waited longer")
    func givingWay() throws {
        let order = CallOrder()
        let made = Mutex<[String]>([])
        let done = DispatchGroup()
        func call(_ name: String, givingWay givesWay: Bool) {
            Thread.detachNewThread {
                order.call(givingWay: givesWay) { made.withLock { $0.append(name) } }
                done.leave()
            }
        }
        order.call(givingWay: true) {
            for number in 0..<50 {
                done.enter()
                call("item \(number)", givingWay: true)
            }
            while order.waiting < 50 { usleep(1000) }
            for number in 0..<2 {
                done.enter()
                call("prompt \(number)", givingWay: false)
            }
            while order.waiting < 52 { usleep(1000) }
        }
        done.wait()
        let names = made.withLock { $0 }
        #expect(names.count == 52)
        #expect(Set(names.prefix(2)) == ["prompt 0", "prompt 1"])
        #expect(order.waiting == 0)
    }

    @Test("DEC-579: of many calls of both kinds at once each is made alone, and none is forgotten")
    func crowd() {
        let order = CallOrder()
        let state = Mutex((inside: 0, most: 0, made: 0))
        DispatchQueue.concurrentPerform(iterations: 16) { thread in
            for number in 0..<500 {
                order.call(givingWay: (thread + number) % 3 > 0) {
                    state.withLock {
                        $0.inside += 1
                        $0.most = max($0.most, $0.inside)
                    }
                    if number % 50 == 0 { usleep(10) }
                    state.withLock {
                        $0.inside -= 1
                        $0.made += 1
                    }
                }
            }
        }
        #expect(state.withLock { $0.most } == 1)
        #expect(state.withLock { $0.made } == 8000)
    }

    @Test(
        "DEC-579: what apps do with items and keys gives way, and nothing about a prompt, the sensor or the device does"
    )
    func methods() {
        let items: [any VarlinkMethod.Type] = [
            EnclaveInterface.UnwrapKeys.self, EnclaveInterface.WrapKey.self, EnclaveInterface.RecordItems.self,
            EnclaveInterface.Sign.self, EnclaveInterface.SignMessage.self, EnclaveInterface.OpenRecords.self,
        ]
        #expect(items.allSatisfy { $0.givesWay })
        let prompts: [any VarlinkMethod.Type] = [
            EnclaveInterface.BeginEvaluation.self, EnclaveInterface.SetShown.self, EnclaveInterface.PresentFinger.self,
            EnclaveInterface.SubmitPasscode.self, EnclaveInterface.Lock.self, EnclaveInterface.Unlock.self,
        ]
        #expect(!prompts.contains { $0.givesWay })
    }
}
