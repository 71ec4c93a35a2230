import Foundation
import Glibc
import TouchstoneCore

/// Keeps the two daemons of a booted device running: one that ends takes the other with it, and both start anew, which is to the device
/// what a reboot is to a phone.
struct Supervisor {
    let paths: DevicePaths
    /// Longest time to the first answer.
    let startLimit: Duration
    /// Called once, when the device answers for the first time.
    let onReady: () -> Void

    /// Supervises until a signal ends it, which is no failure.
    func run() throws {
        try RuntimeDirectory.make(paths)
        let programs = try DaemonPair.Programs.locate()
        let lock = try SupervisorLock.take(paths)
        defer { lock.release() }
        let signals = SignalWait(Self.stopSignals + [SIGCHLD, ReadinessProbe.signal])
        defer { unsafe unlink(paths.socket.path) }

        var policy = RestartPolicy()
        var hasBeenReady = false
        while true {
            // A socket left by a daemon that was killed would answer nobody.
            unsafe unlink(paths.socket.path)
            let pair = try DaemonPair.start(paths, programs: programs)
            let probe = ReadinessProbe(paths)
            defer { probe.cancel() }
            let outcome = watch(pair, probe, signals, &hasBeenReady)
            let lifetime = ContinuousClock.now - pair.started
            switch outcome {
            case .stopped:
                stop([pair.daemon, pair.enclave], signals)
                return
            case .neverReady:
                stop([pair.daemon, pair.enclave], signals)
                throw Failure(.unavailable, "\(paths.name) did not answer within \(startLimit.inSeconds) s")
            case .ended(let program, let ending, let rest):
                let others = stop(rest, signals)
                if ([ending] + others).contains(.exited(ExitStatus.configuration.rawValue)) {
                    throw Failure(.configuration, "\(paths.name) refused to start; the reason is above")
                }
                let wasReboot = probe.isReady && Self.rebootEndings.contains(ending)
                guard let delay = policy.delay(afterLiving: lifetime, wasRequested: wasReboot) else {
                    throw Failure(
                        .unavailable,
                        "\(program.rawValue) \(ending), \(RestartPolicy.maximumQuickDeaths) times in a row soon after its "
                            + "start: giving up")
                }
                StandardError.say(
                    wasReboot
                        ? "\(paths.name) reboots" : "\(program.rawValue) \(ending): \(paths.name) reboots")
                if delay > .zero, SignalWait(Self.stopSignals).next(within: delay) != nil { return }
            }
        }
    }

    private enum Outcome {
        case stopped
        case neverReady
        case ended(Program, Child.Ending, rest: [Child])
    }

    private func watch(
        _ pair: DaemonPair, _ probe: ReadinessProbe, _ signals: SignalWait, _ hasBeenReady: inout Bool
    ) -> Outcome {
        while true {
            let limit = hasBeenReady ? nil : max(.zero, startLimit - (.now - pair.started))
            guard let number = signals.next(within: limit) else { return .neverReady }
            switch number {
            case SIGCHLD:
                // The enclave first: when it ends, touchstoned may follow before we look.
                if let ending = pair.enclave.poll() { return .ended(.enclave, ending, rest: [pair.daemon]) }
                if let ending = pair.daemon.poll() { return .ended(.daemon, ending, rest: [pair.enclave]) }
            case ReadinessProbe.signal:
                if !hasBeenReady, probe.isReady {
                    hasBeenReady = true
                    onReady()
                }
            default: return .stopped
            }
        }
    }

    /// Ends `children`: asks them, and kills those that have not gone in time.
    @discardableResult
    private func stop(_ children: [Child], _ signals: SignalWait) -> [Child.Ending] {
        for child in children { child.send(SIGTERM) }
        let deadline = ContinuousClock.now + Self.stopLimit
        var running = children
        var endings: [Child.Ending] = []
        while true {
            running.removeAll { child in
                guard let ending = child.poll() else { return false }
                endings.append(ending)
                return true
            }
            guard !running.isEmpty else { return endings }
            let left = deadline - .now
            guard left > .zero else { break }
            _ = signals.next(within: left)
        }
        for child in running { child.send(SIGKILL) }
        return endings + running.map { $0.wait() }
    }

    /// How daemons end when the device is told to reboot: touchstoned with `EX_TEMPFAIL`, the enclave when touchstoned is gone.
    private static let rebootEndings: [Child.Ending] = [.exited(EX_TEMPFAIL), .exited(0)]
    private static let stopSignals = [SIGTERM, SIGINT, SIGHUP]
    private static let stopLimit = Duration.seconds(2)
}
