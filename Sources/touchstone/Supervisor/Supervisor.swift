import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// Keeps the two daemons of a booted device running.
///
/// If one ends, the other ends with it, and both restart. For the device this is what a reboot is for a phone. Daemons that hang are
/// ended, with the same outcome.
struct Supervisor {
    let paths: DevicePaths
    /// The socket that apps connect to, if systemd made it: it outlives the daemons and this process.
    var listening: PassedSocket?
    /// Longest time to the first answer.
    let startLimit: Duration
    /// Longest time without an answer.
    let silenceLimit: Duration
    /// Called once, when the device answers for the first time.
    let onReady: () -> Void

    /// Supervises until a signal ends it, which is not a failure.
    func run() throws {
        try RuntimeDirectory.make(paths)
        let programs = try DaemonPair.Programs.locate()
        let lock = try SupervisorLock.take(paths)
        defer { lock.release() }
        let signals = SignalWait(Self.stopSignals + [SIGCHLD, AnswerProbe.signal])
        defer { if let listening { listening.refuseWaiting() } else { unsafe unlink(paths.socket.path) } }

        var policy = RestartPolicy()
        var hasBeenReady = false
        while true {
            // A socket that a killed daemon left behind would not answer.
            if listening == nil { unsafe unlink(paths.socket.path) }
            let pair = try DaemonPair.start(paths, listening: listening, programs: programs)
            let probe = AnswerProbe(paths, pause: silenceLimit / Self.looks)
            let outcome = watch(pair, probe, signals, &hasBeenReady)
            probe.cancel()
            let lifetime = ContinuousClock.now - pair.started
            switch outcome {
            case .stopped:
                stop([pair.daemon, pair.enclave], signals)
                return
            case .neverReady:
                stop([pair.daemon, pair.enclave], signals)
                throw Failure(.unavailable, "\(paths.name) did not answer within \(startLimit.inSeconds) s")
            case .hung:
                // Nobody is asked to end who does not answer.
                for child in [pair.daemon, pair.enclave] { child.send(SIGKILL) }
                for child in [pair.daemon, pair.enclave] { _ = child.wait() }
                StandardError.say(
                    "\(paths.name) has not answered for \(silenceLimit.inSeconds) s: \(paths.name) reboots")
            case .ended(let program, let ending, let rest):
                let others = stop(rest, signals)
                if ([ending] + others).contains(.exited(ExitStatus.configuration.rawValue)) {
                    throw Failure(.configuration, "\(paths.name) refused to start; the reason is above")
                }
                let wasReboot = probe.isReady && Self.rebootEndings.contains(ending)
                guard let delay = policy.delay(afterLiving: lifetime, wasReady: probe.isReady, wasRequested: wasReboot)
                else {
                    throw Failure(
                        .unavailable,
                        "\(program.name) \(ending), \(RestartPolicy.maximumFailedStarts) times in a row before it "
                            + "answered: giving up")
                }
                StandardError.say(
                    wasReboot
                        ? "\(paths.name) reboots" : "\(program.name) \(ending): \(paths.name) reboots")
                if delay > .zero, SignalWait(Self.stopSignals).next(within: delay) != nil { return }
            }
        }
    }

    private enum Outcome {
        case stopped
        case neverReady
        case hung
        case ended(Program, Child.Ending, rest: [Child])
    }

    private func watch(
        _ pair: DaemonPair, _ probe: AnswerProbe, _ signals: SignalWait, _ hasBeenReady: inout Bool
    ) -> Outcome {
        // Looks in a row without an answer between them, not time: while the machine sleeps, or this process is stopped, nobody is asked.
        var silentLooks = 0
        while true {
            let limit = hasBeenReady ? silenceLimit / Self.looks : max(.zero, startLimit - (.now - pair.started))
            guard let number = signals.next(within: limit) else {
                guard hasBeenReady else { return .neverReady }
                silentLooks = probe.takeAnswer() ? 0 : silentLooks + 1
                if silentLooks >= Self.looks { return .hung }
                continue
            }
            switch number {
            case SIGCHLD:
                // The enclave first: when it ends, touchstoned may follow before we look.
                if let ending = pair.enclave.poll() { return .ended(.enclave, ending, rest: [pair.daemon]) }
                if let ending = pair.daemon.poll() { return .ended(.daemon, ending, rest: [pair.enclave]) }
            case AnswerProbe.signal:
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
    /// How often it is looked whether the device answers, in the time in which it must.
    private static let looks = 6
    private static let stopLimit = Duration.seconds(2)
}
