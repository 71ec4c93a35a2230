internal import Dispatch
internal import Foundation
internal import Synchronization
package import TouchstoneEnclave

/// A fingerprint reader of fprintd, over D-Bus.
///
/// Its own thread does everything, and holds the reader only while a finger is awaited.
package final class FprintdSensor: Sensor {
    private struct Lookers {
        var waiting: [DispatchSemaphore] = []
        /// Those that the look is for which goes on.
        var served: [DispatchSemaphore] = []
        /// The last one waited in vain, or the reader is waited for: nobody waits until it has answered.
        var isLate = false
    }

    private let bus: String
    private let templates: String
    private let wakeup = Wakeup()
    private let lookers = Mutex(Lookers())

    /// `bus` is the socket of the D-Bus that fprintd is on, `templates` the directory that it keeps its users' fingers in.
    package init(bus: String, templates: String) {
        self.bus = bus
        self.templates = templates
    }

    package func start(for owner: any SensorOwner) {
        let thread = Thread { [self] in
            FprintdReader(path: bus, templates: Templates(templates), sensor: self, wakeup: wakeup, owner: owner).run()
        }
        thread.name = "fprintd"
        thread.start()
    }

    package func wake() { wakeup.wake() }

    package func refresh(within seconds: Double) {
        let looked = DispatchSemaphore(value: 0)
        let isLate = lookers.withLock { lookers in
            // If a reader does not answer, only the first caller waits for it.
            if !lookers.isLate || lookers.waiting.isEmpty { lookers.waiting.append(looked) }
            return lookers.isLate
        }
        wakeup.wake()
        guard !isLate, looked.wait(timeout: .now() + seconds) == .timedOut else { return }
        lookers.withLock { $0.isLate = true }
    }

    /// A look begins, for everything that waits for one until now.
    func takeLookers() {
        lookers.withLock { lookers in
            lookers.served += lookers.waiting
            lookers.waiting = []
        }
    }

    /// The look came to nothing: they go on waiting.
    func putBack() {
        lookers.withLock { lookers in
            lookers.waiting += lookers.served
            lookers.served = []
        }
    }

    var hasLookers: Bool { lookers.withLock { !$0.waiting.isEmpty } }

    /// The look is done.
    func answer() {
        let served = lookers.withLock { lookers in
            defer { lookers.served = [] }
            lookers.isLate = false
            return lookers.served
        }
        for looked in served { looked.signal() }
    }

    /// Whether the next look can take long.
    ///
    /// What waits for one continues with what was seen last, and the look is made all the same.
    func setLate(_ isLate: Bool) {
        let waiting = lookers.withLock { lookers in
            lookers.isLate = isLate
            return isLate ? lookers.waiting + lookers.served : []
        }
        for looked in waiting { looked.signal() }
    }
}
