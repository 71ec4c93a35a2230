internal import Foundation
internal import Glibc
internal import Synchronization
internal import TouchstoneCore
package import TouchstoneEnclave

/// A PAM service as a sensor: whatever it recognises the user by, and however well.
///
/// A thread of its own has a ``PAMLook`` look whenever an evaluation waits. The lock screen is not served: a camera would look, and fail,
/// for as long as nobody sits there.
package final class PAMSensor: Sensor {
    /// Seconds.
    private enum Limits {
        static let look = 15.0
        static let betweenLooks = 0.5
        /// Looks without a result in a row, a number.
        static let errors = 2
        /// A service that gave no result is not asked again for so long.
        static let memory = 60.0
    }

    private let service: String
    private let directory: String?
    private let program: String?
    private let deadline: Double
    private let memory: Double
    /// When it last gave no result, and none since.
    private let failure = Mutex<Double?>(nil)
    private let wakeup = Wakeup()
    private let owner = Mutex<(any SensorOwner)?>(nil)

    /// `directory` is where the service's file is, nil for the system's; `program` is touchstone-pam-verify, nil if it is not
    /// installed; `deadline` and `memory`, in seconds, are for tests.
    package init(
        service: String, directory: String?, program: String?, deadline: Double? = nil, memory: Double? = nil
    ) {
        self.service = service
        self.directory = directory
        self.program = program
        self.deadline = deadline ?? Limits.look
        self.memory = memory ?? Limits.memory
    }

    package func start(for owner: any SensorOwner) {
        self.owner.withLock { $0 = owner }
        let thread = Thread { [self] in
            while true { serve(owner) }
        }
        thread.name = "pam"
        thread.start()
    }

    package func wake() { wakeup.wake() }

    package func refresh(within seconds: Double) {
        owner.withLock { $0 }?.hear(report)
    }

    /// Who is enrolled is not known: somebody may be, as long as there is such a service.
    private var report: SensorReport {
        guard UserName.own != nil else { return .unavailable(.unknownOwner) }
        let places = directory.map { [$0] } ?? ["/etc/pam.d", "/usr/lib/pam.d"]
        guard program != nil, places.contains(where: { unsafe access("\($0)/\(service)", F_OK) == 0 }) else {
            return .unavailable(.noService)
        }
        if let failed = failure.withLock({ $0 }), MonotonicClock.now - failed < memory {
            return .unavailable(.notAnswering)
        }
        return .enrolled(
            SensorEnrolment(
                reader: SensorReader(name: service),
                fingers: [.init(name: service, identity: Data("pam \(service)".utf8))],
                areTemplatesRead: false))
    }

    private func serve(_ owner: any SensorOwner) {
        guard let program, let user = UserName.own, let awaited = owner.awaitedTouch, !owner.isLockScreen(awaited)
        else {
            wakeup.wait(nil)
            return wakeup.clear()
        }
        var errors = 0
        while owner.awaitedTouch == awaited {
            let began = MonotonicClock.now
            let look = PAMLook(
                program: program, arguments: [service, user] + (directory.map { [$0] } ?? []))
            let result = look?.result(
                before: began + deadline, wakeup: wakeup, isAwaited: { owner.awaitedTouch == awaited },
                retry: { owner.hear(.hint(.scanAgain, for: awaited)) })
            if result == .match || result == .noMatch { failure.withLock { $0 = nil } }
            switch result {
            case .match: owner.hear(.touched(isMatch: true, for: awaited))
            case .noMatch:
                errors = 0
                owner.hear(.touched(isMatch: false, for: awaited))
            case .abandoned: return
            case .nothing, nil:
                errors += 1
                guard errors < Limits.errors else {
                    failure.withLock { $0 = MonotonicClock.now }
                    owner.hear(.unavailable(.notAnswering))
                    return
                }
                owner.hear(.hint(.readerFailed, for: awaited))
            }
            // One that answers at once is not asked without end.
            while owner.awaitedTouch == awaited, MonotonicClock.now - began < Limits.betweenLooks {
                wakeup.wait(began + Limits.betweenLooks - MonotonicClock.now)
                wakeup.clear()
            }
        }
    }
}
