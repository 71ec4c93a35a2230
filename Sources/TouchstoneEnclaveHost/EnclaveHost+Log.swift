import Foundation
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneLog

extension EnclaveHost {
    /// Logs what changes nothing in the state.
    func note(_ facts: [LogFact]) {
        guard !facts.isEmpty else { return }
        log { log, now, date in
            for fact in facts { log.note(fact) }
            return log.lines(now: now, date: date)
        }
    }

    /// Logs what touchstoned saw: so many times, where it counted.
    func note(_ observation: Enclave.Observation) {
        let fact = LogFact(observation)
        let times = if case .callRefused(_, let count) = observation { max(count, 1) } else { 1 }
        log { log, now, date in
            log.note(fact, times: times)
            return log.lines(now: now, date: date)
        }
    }

    /// Logs that an app was refused something, where that has a cause.
    ///
    /// `context` says for whom it asked.
    func noteRefusal(of app: AppIdentifier, in context: String?, _ cause: RefusalCause?, _ control: AccessControl?) {
        guard let cause else { return }
        let client = read { enclave, _ in enclave.client(of: context, made: app) }
        note([LogFact(refused: app, for: client, cause, control?.requirement)])
    }

    /// Logs a part of a backup.
    func note(_ event: LogEvent, _ keys: [Enclave.RewrappedKey]) {
        let count = keys.count { if case .wrapped = $0 { true } else { false } }
        if count > 0 { note([LogFact(event: event, count: count, isRepeatable: true)]) }
    }

    /// Which of these lines this enclave wrote.
    func checkLog(_ lines: [String]) -> [Bool] {
        let log = read { enclave, _ in enclave.log }
        return lines.map(log.isGenuine)
    }

    /// Writes what was only counted, and says where the log ends.
    func logHead() -> LogHead {
        log { log, now, date in log.linesWithCounts(now: now, date: date) }
        return read { enclave, _ in enclave.log.head }
    }

    /// Of the newest lines, those that are looked at.
    static let resumedLines = 32

    /// Begins the log of this boot; a state that cannot be written is no reason not to boot.
    func resumeLog(newestLines: [String]) {
        keepingLog { log, now, date in
            log.resume(newestLines: newestLines.suffix(Self.resumedLines))
            return log.lines(now: now, date: date)
        }
    }

    /// Ends the log of this boot.
    func closeLog() -> LogHead {
        keepingLog { log, now, date in log.close(now: now, date: date) }
        return read { enclave, _ in enclave.log.head }
    }
}
