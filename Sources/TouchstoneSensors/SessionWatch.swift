internal import Foundation

/// Hears from the login service that the owner's session was locked, or that the machine goes to sleep.
///
/// In the enclave's own process, so that nobody else has to pass it on. What counts comes from the connection that owns the login
/// service's name. Where it is not known whose session it was, or nobody can be heard any more, the device locks: that costs a finger.
/// `Unlock` is not listened to: only a finger or the passcode opens the device.
package final class SessionWatch: Sendable {
    private enum Name {
        static let service = "org.freedesktop.login1"
        static let path = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
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
    private let lock: @Sendable () -> Void
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - path: The socket of the bus.
    ///   - lock: Called whenever the device has to be locked, also where it is.
    ///   - report: Is told when nobody can be heard, and when somebody is again.
    package init(bus path: String, lock: @escaping @Sendable () -> Void, report: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.lock = lock
        self.report = report
    }

    /// Listens from now on, on a thread of its own.
    package func start() {
        let thread = Thread { [self] in
            let wakeup = Wakeup()
            var wasHeard = true
            while true {
                do throws(MessageBus.Failure) {
                    try listen { wasHeard = true }
                } catch {
                    if wasHeard {
                        report("the login service is not heard (\(error)): the device does not lock with the session")
                        lock()
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
        guard bus.owner(of: Name.service) != nil else { throw .disconnected }
        begins()
        report("locks with the sessions of \(UserName.own ?? "every user: user \(UserName.id) is not in /etc/passwd")")
        while true {
            guard let signal = try bus.next(before: nil, or: -1) else { continue }
            if bus.takeLoss() { lock() }
            if signal.changedName == Name.service {
                guard !signal.texts[2].isEmpty else { throw .disconnected }
                lock()
            } else if signal.service == Name.service, try isLock(signal, bus) {
                lock()
            }
        }
    }

    private func isLock(_ signal: MessageBus.Signal, _ bus: MessageBus) throws(MessageBus.Failure) -> Bool {
        switch signal.name {
        case "\(Name.manager).PrepareForSleep": return signal.flag == true
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

    /// nil where it is not to be had: the session may be gone.
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
