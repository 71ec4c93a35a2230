import Dispatch
import Foundation
import Security
import Synchronization
import Testing
import TouchstoneTesting

/// Calls that come at the same time come one after the other.
@Suite(.timeLimit(.minutes(10))) struct ConcurrencyTests {
    @Test("KC-31: of many adds of one key at once exactly one succeeds") func oneAddSucceeds() throws {
        let device = try SimulatedDevice()
        let results = Mutex<[OSStatus]>([])
        DispatchQueue.concurrentPerform(iterations: 24) { number in
            device.run {
                let status = add(account("a").value("\(number)"))
                results.withLock { $0.append(status) }
            }
        }
        let statuses = results.withLock { $0 }
        #expect(statuses.filter { $0 == errSecSuccess }.count == 1)
        #expect(statuses.filter { $0 == errSecDuplicateItem }.count == 23)
    }

    @Test("Section 7: an update that meets a delete neither brings the item back nor harms the one added after it")
    func updateMeetsDelete() throws {
        let device = try SimulatedDevice()
        let isOver = Atomic(false)
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            device.run {
                while number == 1, !isOver.load(ordering: .relaxed) {
                    let status = update(account("a"), [kSecValueData: Data("x".utf8)])
                    #expect(status == errSecSuccess || status == errSecItemNotFound)
                }
                guard number == 0 else { return }
                for _ in 0..<40 {
                    #expect(add(account("a").value("a")) == errSecSuccess)
                    #expect(read(account("a")) == errSecSuccess)
                    #expect(delete(account("a")) == errSecSuccess)
                    #expect(add(account("b").value("b")) == errSecSuccess)
                    #expect(read(account("a")) == errSecItemNotFound)
                    #expect(secret(account("b")) == "b")
                    #expect(delete(account("b")) == errSecSuccess)
                }
                isOver.store(true, ordering: .relaxed)
            }
        }
    }

    @Test("KC-33: a search sees an item before or after an update, never in between") func updateMeetsSearch() throws {
        let device = try SimulatedDevice()
        device.run { #expect(add(account("a", [kSecAttrLabel: "0"]).value("0")) == errSecSuccess) }
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            device.run {
                for round in 1...100 {
                    if number == 0 {
                        let changes: Attributes = [kSecAttrLabel: "\(round)", kSecValueData: Data("\(round)".utf8)]
                        #expect(update(account("a"), changes) == errSecSuccess)
                    } else {
                        let found = find(account("a").data.attributes).result as? [String: Any]
                        let label = found?["labl"] as? String
                        #expect(label != nil)
                        #expect(found?["v_Data"] as? Data == label.map { Data($0.utf8) })
                    }
                }
            }
        }
    }
}
