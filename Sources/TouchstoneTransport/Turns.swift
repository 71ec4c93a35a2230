internal import Synchronization
package import TouchstoneCore

/// Lets so much work go on at a time; whoever has more waits in a list, and not on a thread.
///
/// One app after the other has its turn, so that one with much to do keeps nobody waiting. Within an app it is first come, first served.
package final class Turns: Sendable {
    package struct Limits: Sendable {
        /// Turns at a time.
        package var total: Int
        package var perProcess: Int
        package var perApp: Int
        /// What all turns at a time may cost together; one that costs more has its turn alone.
        ///
        /// One app has half of it, or a single turn.
        package var budget: Int
        /// Turns that one process may wait for.
        package var waitingPerProcess: Int

        package init(
            total: Int = .max, perProcess: Int = .max, perApp: Int = .max, budget: Int = .max,
            waitingPerProcess: Int = .max
        ) {
            self.total = total
            self.perProcess = perProcess
            self.perApp = perApp
            self.budget = budget
            self.waitingPerProcess = waitingPerProcess
        }
    }

    /// Whose work it is.
    package struct Party: Sendable {
        let process: Int32
        /// Empty where nobody knows it.
        let app: AppIdentifier

        package init(process: Int32 = 0, app: AppIdentifier = "") {
            self.process = process
            self.app = app
        }
    }

    fileprivate struct Waiting {
        var number: UInt64
        var party: Party
        var cost: Int
        var begin: @Sendable (Turn) -> Void
    }

    fileprivate struct State {
        var last: UInt64 = 0
        /// The apps that wait, the next one first.
        var apps: [AppIdentifier] = []
        var waiting: [AppIdentifier: [Waiting]] = [:]
        var waitingByProcess: [Int32: Int] = [:]
        var taken = 0
        var takenByProcess: [Int32: Int] = [:]
        var takenByApp: [AppIdentifier: Int] = [:]
        var cost = 0
        var costByApp: [AppIdentifier: Int] = [:]
    }

    private let limits: Limits
    private let whenIdle: (@Sendable () -> Void)?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limits: How much at a time.
    ///   - whenIdle: Is called each time that a turn has ended, none is left, and nobody waits.
    package init(_ limits: Limits, whenIdle: (@Sendable () -> Void)? = nil) {
        self.limits = limits
        self.whenIdle = whenIdle
    }

    /// Calls `begin` with a turn, at once or when one is free, on whichever thread ended the one before.
    ///
    /// - Parameters:
    ///   - party: Whose turn it is.
    ///   - cost: How much of the budget it takes.
    ///   - placed: Is told of the place among those that wait, before the turn comes.
    ///   - begin: Must not take long.
    /// - Returns: Whether it may wait: false where the process has as many as it may have, and `begin` is never called.
    @discardableResult
    package func take(
        for party: Party, cost: Int = 0, placed: (Place) -> Void = { _ in }, _ begin: @escaping @Sendable (Turn) -> Void
    ) -> Bool {
        let number = state.withLock { state -> UInt64? in
            guard state.waitingByProcess[party.process, default: 0] < limits.waitingPerProcess else { return nil }
            state.last += 1
            state.append(Waiting(number: state.last, party: party, cost: cost, begin: begin))
            return state.last
        }
        guard let number else { return false }
        placed(Place(self, number, party.app))
        beginNext()
        return true
    }

    /// How many wait.
    package var waiting: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    private func beginNext() {
        while let next = state.withLock({ $0.next(limits) }) {
            next.begin(Turn(self, next.party, next.cost))
        }
    }

    fileprivate func end(_ party: Party, _ cost: Int) {
        let isIdle = state.withLock { state in
            state.taken -= 1
            state.takenByProcess.countDown(party.process)
            state.takenByApp.countDown(party.app)
            state.cost -= cost
            state.costByApp.countDown(party.app, by: cost)
            return state.taken == 0 && state.apps.isEmpty
        }
        if isIdle { whenIdle?() }
        beginNext()
    }

    fileprivate func leave(_ number: UInt64, _ app: AppIdentifier) {
        // Let go of outside of the lock: what it holds may be another turn.
        let left = state.withLock { state in
            state.waiting[app]?.firstIndex { $0.number == number }.flatMap { state.remove($0, of: app) }
        }
        // Another may have waited behind it.
        if left != nil { beginNext() }
    }

    /// The place of one that waits.
    package final class Place: Sendable {
        private let turns: Turns
        private let number: UInt64
        private let app: AppIdentifier

        fileprivate init(_ turns: Turns, _ number: UInt64, _ app: AppIdentifier) {
            (self.turns, self.number, self.app) = (turns, number, app)
        }

        /// Waits no more; harmless where the turn has come.
        package func leave() { turns.leave(number, app) }
    }
}

extension Turns.State {
    mutating func append(_ one: Turns.Waiting) {
        if waiting[one.party.app] == nil { apps.append(one.party.app) }
        waiting[one.party.app, default: []].append(one)
        waitingByProcess[one.party.process, default: 0] += 1
    }

    mutating func remove(_ index: Int, of app: AppIdentifier) -> Turns.Waiting? {
        guard let one = waiting[app]?.remove(at: index) else { return nil }
        waitingByProcess.countDown(one.party.process)
        if waiting[app]?.isEmpty == true {
            waiting[app] = nil
            apps.removeAll { $0 == app }
        }
        return one
    }

    /// Takes the next one's turn.
    mutating func next(_ limits: Turns.Limits) -> Turns.Waiting? {
        guard taken < limits.total else { return nil }
        for app in apps where takenByApp[app, default: 0] < limits.perApp {
            guard let list = waiting[app],
                let index = list.firstIndex(where: {
                    takenByProcess[$0.party.process, default: 0] < limits.perProcess
                })
            else { continue }
            let held = costByApp[app, default: 0]
            guard held == 0 || held + list[index].cost <= limits.budget / 2 else { continue }
            // Nobody passes one that waits for room, or it would wait for ever.
            guard cost == 0 || cost + list[index].cost <= limits.budget else { return nil }
            guard let next = remove(index, of: app) else { return nil }
            if waiting[app] != nil {
                apps.removeAll { $0 == app }
                apps.append(app)
            }
            taken += 1
            takenByProcess[next.party.process, default: 0] += 1
            takenByApp[app, default: 0] += 1
            cost += next.cost
            if next.cost > 0 { costByApp[app, default: 0] += next.cost }
            return next
        }
        return nil
    }
}

/// One turn: it ends with the object, or before.
package final class Turn: Sendable {
    private let turns: Turns
    private let party: Turns.Party
    private let cost: Int
    private let isOver = Mutex(false)

    fileprivate init(_ turns: Turns, _ party: Turns.Party, _ cost: Int) {
        self.turns = turns
        self.party = party
        self.cost = cost
    }

    deinit { end() }

    /// Ends the turn; harmless when repeated.
    package func end() {
        let isFirst = isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
        if isFirst { turns.end(party, cost) }
    }
}
