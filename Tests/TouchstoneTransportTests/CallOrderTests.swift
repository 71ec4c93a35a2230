import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneEnclaveInterface

@testable import TouchstoneTransport

/// Who has the connection to the enclave next.
@Suite struct CallOrderTests {
    /// The kinds of calls that wait behind one that gives way, in the order in which they are made.
    private func order(items: Int, prompts: Int) -> String {
        let order = CallOrder()
        let made = Mutex("")
        let done = DispatchGroup()
        func call(_ kind: String, givingWay givesWay: Bool, _ count: Int, waiting: Int) {
            for _ in 0..<count {
                done.enter()
                Thread.detachNewThread {
                    order.call(givingWay: givesWay) { made.withLock { $0 += kind } }
                    done.leave()
                }
            }
            let end = ContinuousClock.now + .seconds(120)
            while order.waiting < waiting, .now < end { usleep(1000) }
            #expect(order.waiting == waiting)
        }
        order.call(givingWay: true) {
            call("i", givingWay: true, items, waiting: items)
            call("P", givingWay: false, prompts, waiting: items + prompts)
        }
        #expect(done.wait(timeout: .now() + 120) == .success)
        #expect(order.waiting == 0)
        return made.withLock { $0 }
    }

    @Test("DEC-579: calls about prompts go before 50 about items that waited longer")
    func givingWay() {
        #expect(order(items: 50, prompts: 2) == "PP" + String(repeating: "i", count: 50))
    }

    @Test("DEC-579: after four calls about prompts one about an item has its turn")
    func flood() {
        #expect(order(items: 3, prompts: 20) == "PPPPiPPPPiPPPPiPPPPPPPP")
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
        "DEC-579: what apps do with items and keys gives way, and nothing about a prompt, the sensor or the device does, nor what all writes wait for"
    )
    func methods() {
        let items: [any VarlinkMethod.Type] = [
            EnclaveInterface.UnwrapKeys.self, EnclaveInterface.WrapKey.self, EnclaveInterface.Sign.self,
            EnclaveInterface.SignMessage.self, EnclaveInterface.OpenRecords.self,
        ]
        #expect(items.allSatisfy { $0.givesWay })
        let prompts: [any VarlinkMethod.Type] = [
            EnclaveInterface.BeginEvaluation.self, EnclaveInterface.SetShown.self, EnclaveInterface.PresentFinger.self,
            EnclaveInterface.SubmitPasscode.self, EnclaveInterface.Lock.self, EnclaveInterface.Unlock.self,
            EnclaveInterface.RecordItems.self,
        ]
        #expect(!prompts.contains { $0.givesWay })
    }
}
