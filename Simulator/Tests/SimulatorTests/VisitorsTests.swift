import Synchronization
import Testing

@testable import touchstone_simulator

/// Who keeps a place at the page's server.
@Suite struct VisitorsTests {
    private final class Connection: Sendable {
        let hasLeft = Atomic(false)
        var number: ObjectIdentifier { ObjectIdentifier(self) }
        var isGone: Bool { hasLeft.load(ordering: .relaxed) }

        func come(to visitors: Visitors) {
            visitors.came(number) { [self] in hasLeft.store(true, ordering: .relaxed) }
        }
    }

    @Test func theOldestThatShowedNothingGivesWay() {
        let visitors = Visitors(maximum: 3)
        let connections = (0..<5).map { _ in Connection() }
        for connection in connections { connection.come(to: visitors) }
        #expect(connections.map(\.isGone) == [true, true, false, false, false])
    }

    @Test func whoHasTheAddressStaysAndWhoHasLeftTakesNoPlace() {
        let visitors = Visitors(maximum: 2)
        let (known, left, waiting) = (Connection(), Connection(), Connection())
        for connection in [known, left] { connection.come(to: visitors) }
        visitors.forget(known.number)
        visitors.forget(left.number)
        waiting.come(to: visitors)
        for _ in 0..<10 {
            let other = Connection()
            other.come(to: visitors)
            visitors.forget(other.number)
        }
        #expect(!known.isGone && !left.isGone && !waiting.isGone)
    }
}
