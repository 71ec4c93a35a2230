import Foundation
import Testing

@testable import SyncEngine
@testable import SyncStores

/// Links of the circle's chain at the store: whoever puts one first has made the change (SY-11).
@Suite struct ChainExchangeTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func links(_ count: Int) -> [Data] { (0..<count).map { SmallDevice.link($0) } }

    @Test func sy11_linksComeToTheStoreAndToANewDevice() async throws {
        let (ada, bob) = (SmallDevice("a", links: links(250)), SmallDevice("b", links: links(1)))
        let store = try await bench.store()
        #expect(try await ChainExchange(ada, store).run() == .init(count: 250))
        #expect(try await ChainExchange(bob, store).run() == .init(count: 250))
        #expect(bob.links == ada.links)
        #expect(try await ChainExchange.links(in: store) == ada.links)
    }

    @Test func sy11_ofTwoChangesAtOnceOneWins() async throws {
        let (ada, bob) = (SmallDevice("a", links: links(2)), SmallDevice("b", links: links(2)))
        let store = try await bench.store()
        for device in [ada, bob] {
            device.state.withLock {
                $0.links.append(SmallDevice.link(2, device.member))
                $0.proposes = true
            }
        }
        #expect(try await ChainExchange(ada, store).run() == .init(count: 3))
        #expect(try await ChainExchange(bob, store).run() == .init(count: 3, lost: true))
        #expect(bob.links == ada.links)
        // The other one tries again.
        bob.state.withLock {
            $0.links.append(SmallDevice.link(3, bob.member))
            $0.proposes = true
        }
        #expect(try await ChainExchange(bob, store).run() == .init(count: 4))
        #expect(try await ChainExchange(ada, store).run() == .init(count: 4))
        #expect(bob.links == ada.links)
    }

    @Test func sy11_aProposalCountsWhenItCameBack() async throws {
        let ada = SmallDevice("a", links: links(2))
        ada.state.withLock { $0.proposes = true }
        _ = try await ChainExchange(ada, bench.store()).run()
        #expect(!ada.state.withLock { $0.proposes })
    }

    @Test func sy11_anotherCircleAtTheStoreIsRefused() async throws {
        let (ada, eve) = (SmallDevice("a", links: links(1)), SmallDevice("e", links: [SmallDevice.link(7)]))
        let store = try await bench.store()
        _ = try await ChainExchange(ada, store).run()
        await #expect(throws: DeviceFailure.refused("forked")) { try await ChainExchange(eve, store).run() }
    }

    @Test func sy11_aLinkIsWholeOrNamed() async throws {
        let store = try await bench.store()
        try await store.put(StoredName.link(0).record, Data(repeating: 255, count: 256))
        await #expect(throws: StoreError.self) { try await ChainExchange.link(0, in: store) }
    }

    @Test func sy11_theEngineBringsALinkBeforeTheObjectsThatNeedIt() async throws {
        let (ada, bob) = (SmallDevice("a", links: links(1)), SmallDevice("b", links: links(1)))
        let (one, two) = (try await bench.member(ada), try await bench.member(bob))
        try await one.round()
        try await two.round()
        ada.state.withLock { $0.links.append(SmallDevice.link(1)) }
        try await one.round()
        try await two.round()
        #expect(bob.links.count == 2)
    }
}
