internal import Foundation
internal import Glibc
internal import Synchronization

/// Learns from the login service that the owner's session was locked, or that the machine goes to sleep.
///
/// It delays each sleep until the device is locked, for as long as the login service lets it.
///
/// It is in the enclave's own process, so that no other process has to pass this on. Only the connection counts that owns the login
/// service's name. If the session's owner is unknown, or the login service is lost, the device locks, which costs only a finger.
/// It ignores `Unlock`, because only a finger or the passcode opens the device.
package final class SessionWatch: Sendable {
    private enum Name {
        static let service = "org.freedesktop.login1"
        static let path = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let prepareForSleep = "org.freedesktop.login1.Manager.PrepareForSleep"
        static let session = "org.freedesktop.login1.Session"
        static let properties = "org.freedesktop.DBus.Properties"
    }

    /// Seconds.
    private enum Limits {
        static let connecting = 3.0
        static let answer = 2.0
        static let pause = 2.0
    }

    private let path: String
    private let isRequired: Bool
    private let lock: @Sendable () -> Void
    private let report: @Sendable (String) -> Void
    private let isStarted = Mutex(false)

    /// - Parameters:
    ///   - path: The socket of the bus.
    ///   - isRequired: Whether the device also locks if there never was a login service.
    ///   - lock: Called whenever the device has to be locked, also where it is.
    ///   - report: Is told when nobody can be heard, and when somebody is again.
    package init(
        bus path: String, isRequired: Bool, lock: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.isRequired = isRequired
        self.lock = lock
        self.report = report
    }

    /// Listens from now on, on a thread of its own; a second call does nothing.
    package func start() {
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        let thread = Thread { [self] in
            let wakeup = Wakeup()
            var (wasHeard, locks) = (true, isRequired)
            while true {
                do throws(MessageBus.Failure) {
                    try listen { (wasHeard, locks) = (true, true) }
                } catch {
                    if wasHeard {
                        report(
                            "the login service cannot be reached (\(error)), so the device does not lock with the session"
                        )
                        if locks { lock() }
                    }
                    wasHeard = false
                }
                wakeup.wait(Limits.pause)
            }
        }
        thread.name = "sessions"
        thread.start()
    }

    private func listen(_ begins: () -> Void) throws(MessageBus.Failure) -> Never {
        let bus = try MessageBus(path: path, within: Limits.connecting)
        try bus.follow(Name.service, within: Limits.answer)
        for rule in [
            "type='signal',sender='\(Name.service)',interface='\(Name.manager)',member='PrepareForSleep'",
            "type='signal',sender='\(Name.service)',interface='\(Name.session)',member='Lock'",
            "type='signal',sender='\(Name.service)',interface='\(Name.properties)',member='PropertiesChanged',"
                + "path_namespace='\(Name.path)/session'",
        ] { try bus.match(rule, within: Limits.answer) }
        guard let service = bus.owner(of: Name.service) else { throw .disconnected }
        begins()
        report("locks with the sessions of \(UserName.own ?? "every user: user \(UserName.id) is not in /etc/passwd")")
        let delay = SleepDelay(bus: path, report)
        defer { delay.release() }
        delay.take(service)
        while true {
            guard let signal = try bus.next(before: nil, or: -1) else { continue }
            if bus.takeLoss() { lock() }
            if signal.changedName == Name.service {
                guard !signal.texts[2].isEmpty else { throw .disconnected }
                lock()
                delay.take(signal.texts[2])
            } else if signal.service == Name.service, try isLock(signal, bus) {
                lock()
                // The machine may sleep now: no key that the lock closes is in memory.
                if signal.name == Name.prepareForSleep { delay.release() }
            } else if signal.service == Name.service, signal.name == Name.prepareForSleep {
                delay.take(signal.sender)
            }
        }
    }

    private func isLock(_ signal: MessageBus.Signal, _ bus: MessageBus) throws(MessageBus.Failure) -> Bool {
        switch signal.name {
        case Name.prepareForSleep: return signal.flag == true
        case "\(Name.session).Lock": return try isOwners(signal.path, bus)
        case "\(Name.properties).PropertiesChanged":
            guard signal.texts.first == Name.session, try isOwners(signal.path, bus) else { return false }
            return try property("LockedHint", of: signal.path, bus) != "false"
        default: return false
        }
    }

    private func isOwners(_ session: String, _ bus: MessageBus) throws(MessageBus.Failure) -> Bool {
        guard let owner = UserName.own, let name = try property("Name", of: session, bus) else { return true }
        return name == owner
    }

    /// nil if it is not to be had: the session may be gone.
    private func property(_ name: String, of session: String, _ bus: MessageBus) throws(MessageBus.Failure) -> String? {
        guard let service = bus.owner(of: Name.service) else { return nil }
        do throws(MessageBus.Failure) {
            return try bus.call(
                service, session, Name.properties, "Get", [Name.session, name], within: Limits.answer
            ).first
        } catch {
            guard case .refused = error else { throw error }
            return nil
        }
    }
}

/// What the login service waits for before the machine sleeps, 5 s at most as it is usually set: until it is released.
///
/// It is asked for over a connection of its own, on a thread of its own. Where descriptors are taken, any program on the bus can send one
/// that takes for ever to close. Then a sleep is not delayed, and the device still locks.
private final class SleepDelay: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        /// How often it was released: what is answered later than that is not wanted any more.
        var turn = 0
    }

    /// Seconds until it is asked for again, if nobody answered.
    private static let pause = 2.0

    private let path: String
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(bus path: String, _ report: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.report = report
    }

    /// Asks for it; where it is not granted, the lock may come only after the machine woke.
    func take(_ service: String) {
        let turn = release()
        let thread = Thread { [self] in
            var wasAnswered = true
            while isWanted(turn) {
                do throws(MessageBus.Failure) {
                    return keep(try ask(service), turn)
                } catch {
                    if wasAnswered {
                        report(
                            "the login service does not let this program delay a sleep (\(error)), so the lock may come after it"
                        )
                    }
                    if case .refused = error { return }
                    wasAnswered = false
                    Thread.sleep(forTimeInterval: Self.pause)
                }
            }
        }
        thread.name = "sleep delay"
        thread.start()
    }

    private func ask(_ service: String) throws(MessageBus.Failure) -> Int32 {
        let bus = try MessageBus(path: path, takesDescriptors: true, within: 3)
        return try bus.callForDescriptor(
            service, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "Inhibit",
            ["sleep", "Touchstone", "locks the device of \(UserName.own ?? "user \(UserName.id)")", "delay"],
            within: 2)
    }

    private func isWanted(_ turn: Int) -> Bool { state.withLock { $0.turn == turn } }

    private func keep(_ descriptor: Int32, _ turn: Int) {
        let isWanted = state.withLock { state in
            guard state.turn == turn else { return false }
            state.descriptor = descriptor
            return true
        }
        if !isWanted { close(descriptor) }
    }

    @discardableResult
    func release() -> Int {
        let (descriptor, turn) = state.withLock { state in
            defer { state.descriptor = -1 }
            state.turn += 1
            return (state.descriptor, state.turn)
        }
        if descriptor >= 0 { close(descriptor) }
        return turn
    }
}
