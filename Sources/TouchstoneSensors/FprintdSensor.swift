internal import Dispatch
internal import Foundation
internal import Synchronization
package import TouchstoneEnclave

/// A fingerprint reader of fprintd's, over D-Bus.
///
/// A thread of its own does everything; it has the reader only while a finger is awaited.
package final class FprintdSensor: Sensor {
    private struct Lookers {
        var waiting: [DispatchSemaphore] = []
        /// The last one waited in vain: nobody waits until it has answered.
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
            // A reader that does not answer keeps as many waiting as it was asked by, which is nobody after the first.
            if !lookers.isLate || lookers.waiting.isEmpty { lookers.waiting.append(looked) }
            return lookers.isLate
        }
        wakeup.wake()
        guard !isLate, looked.wait(timeout: .now() + seconds) == .timedOut else { return }
        lookers.withLock { $0.isLate = true }
    }

    /// Who waits for a look that begins now.
    func takeLookers() -> [DispatchSemaphore] {
        lookers.withLock { lookers in
            defer { lookers.waiting = [] }
            return lookers.waiting
        }
    }

    /// They go on waiting.
    func putBack(_ waiting: [DispatchSemaphore]) { lookers.withLock { $0.waiting += waiting } }

    var hasLookers: Bool { lookers.withLock { !$0.waiting.isEmpty } }

    func answer(_ waiting: [DispatchSemaphore]) {
        guard !waiting.isEmpty else { return }
        lookers.withLock { $0.isLate = false }
        for looked in waiting { looked.signal() }
    }
}
