internal import CSystemd
internal import Glibc

/// Calls of other programs on the bus.
extension BusConnection {
    /// Calls a method, and waits for the answer; the bus starts the program if it can.
    ///
    /// - Parameters:
    ///   - service: The name of who is called.
    ///   - path: The object.
    ///   - interface: Whose method it is.
    ///   - member: The method.
    ///   - arguments: What it takes.
    /// - Returns: What it returns, within 130 seconds. The bus gets as many to start the program, and itself waits 120.
    /// - Throws: `BusFailure`: `.refused`, `.malformed`, `.disconnected`.
    public func call(
        _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) throws(BusFailure) -> [BusValue] {
        // Secrets are in some of them.
        let end = try answer(
            of: connection(of: service), path, interface, member, arguments, isSensitive: true, within: .seconds(130))
        switch end {
        case .answer(let reply):
            if let name = reply.refusal { throw .refused(name) }
            guard let values = reply.replyValues() else { throw .malformed }
            return values
        case .malformed: throw .malformed
        case .noAnswer: throw .disconnected
        }
    }

    /// Who has a name.
    ///
    /// Calls go to that connection, so that nobody else can answer.
    private func connection(of service: String) throws(BusFailure) -> String {
        if service == Self.driver || service.hasPrefix(":") { return service }
        if let owner = owner(of: service) { return owner }
        _ = try call(
            Self.driver, "/org/freedesktop/DBus", Self.driver, "StartServiceByName", [.string(service), .uint32(0)])
        guard let owner = owner(of: service) else { throw .disconnected }
        return owner
    }

    /// Has the bus read again which programs it starts: it does not see a first file in a new directory.
    ///
    /// A bus that does not do that goes on as before.
    public func readServicesAgain() { _ = try? call(Self.driver, "/org/freedesktop/DBus", Self.driver, "ReloadConfig") }

    /// Tells systemd that this program serves, if systemd has started it.
    public static func tellReady() { unsafe _ = sd_notify(0, "READY=1") }

    /// Asks the bus for a connection's unique name.
    ///
    /// - Parameter name: A well-known name.
    /// - Returns: Who has it; nil where nobody has.
    public func owner(of name: String) -> String? { ask("GetNameOwner", .string(name))?.values()?.first?.text }

    /// Has the bus deliver the signals of an interface, for ``wait(for:of:at:from:seconds:)``.
    ///
    /// - Parameters:
    ///   - interface: Whose signals.
    ///   - sender: The unique name of who sends them.
    /// - Throws: `BusFailure.disconnected`.
    public func listen(to interface: String, from sender: String) throws(BusFailure) {
        let match = "type='signal',sender='\(sender)',interface='\(interface)'"
        guard ask("AddMatch", .string(match)) != nil else { throw .disconnected }
    }

    /// Waits for a signal; other messages are dropped.
    ///
    /// - Parameters:
    ///   - member: Its name.
    ///   - interface: Whose signal it is.
    ///   - path: The object that it is of.
    ///   - sender: The unique name of who sends it.
    ///   - seconds: How long.
    /// - Returns: What it carries; nil after that time, or where its sender left the bus.
    public func wait(
        for member: String, of interface: String, at path: String, from sender: String, seconds: Double
    ) -> [BusValue]? {
        let end = ContinuousClock.now + .seconds(seconds)
        while .now < end {
            guard let (isDone, message) = next() else { return nil }
            if let message {
                if message.isSignal(interface, member), message.path == path, message.sender == sender {
                    return message.values()
                }
                if message.isSignal(Self.driver, "NameOwnerChanged"), message.sender == Self.driver,
                    let values = message.values(), values.count == 3, values[0].text == sender, values[2].text == ""
                {
                    return nil
                }
            }
            // Once in a second the time is looked at.
            if !isDone { unsafe _ = sd_bus_wait(bus, 1_000_000) }
        }
        return nil
    }
}
