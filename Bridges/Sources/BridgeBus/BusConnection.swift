internal import CSystemd
internal import CTouchstoneSystem
internal import Glibc

/// A service on a bus: receives calls, and sends what is in its outbox.
///
/// > Concurrency: For the one thread that made it. The outbox is for any thread.
@safe public final class BusConnection {
    private enum Limits {
        /// What the bus itself gets for an answer.
        static let driver = Duration.seconds(5)
        /// What the bus gets to take the connection, because it may have to start first.
        static let start = Duration.seconds(120)
        /// Messages that may come before an answer.
        static let early = 64 << 10
        /// Calls that are not answered yet, and bytes of their arguments; more are refused.
        static let all = Load(calls: 4096, bytes: 64 << 20)
        /// The same of one process, however many connections it has.
        static let ofOneProcess = Load(calls: 256, bytes: 8 << 20)
    }

    /// What calls that wait take.
    private struct Load {
        var calls = 0
        var bytes = 0

        func isWithin(_ limit: Load) -> Bool { calls <= limit.calls && bytes <= limit.bytes }

        static func + (one: Load, other: Load) -> Load {
            Load(calls: one.calls + other.calls, bytes: one.bytes + other.bytes)
        }

        static func - (one: Load, other: Load) -> Load {
            Load(calls: one.calls - other.calls, bytes: one.bytes - other.bytes)
        }
    }

    /// Whose share of the limits a call takes.
    private enum Sharer: Hashable {
        case process(Int32)
        case connection(String)
    }

    private struct Call {
        var message: BusMessage
        var sharer: Sharer
        var load: Load
    }

    static let driver = "org.freedesktop.DBus"

    let bus: OpaquePointer
    private var waiting: [UInt64: Call] = [:]
    private var load = Load()
    private var loads: [Sharer: Load] = [:]
    private var number: UInt64 = 0
    private var followed: Set<String> = []
    /// Messages that came while an answer was waited for, the first one first.
    private var early: [BusMessage] = []
    /// Who is behind a connection: the bus learns it when it comes, and names are never used again.
    private var peers: [String: BusPeer] = [:]

    /// What this service sends.
    public let outbox: BusOutbox
    /// Runs an actor on the thread of ``run(_:)``.
    public let executor: BusExecutor

    /// Connects to a bus.
    ///
    /// - Parameter address: As D-Bus writes it, such as `unix:path=/run/user/1000/bus`.
    /// - Throws: `BusFailure.disconnected`.
    public init(address: String) throws(BusFailure) {
        outbox = BusOutbox()
        executor = BusExecutor(outbox)
        var made: OpaquePointer?
        guard unsafe sd_bus_new(&made) >= 0, let bus = unsafe made else { throw .disconnected }
        unsafe self.bus = bus
        guard unsafe sd_bus_set_address(bus, address) >= 0, unsafe sd_bus_set_bus_client(bus, 1) >= 0,
            unsafe sd_bus_start(bus) >= 0
        else { throw .disconnected }
        let match = "type='signal',sender='\(Self.driver)',interface='\(Self.driver)',member='NameOwnerChanged'"
        guard ask("AddMatch", .string(match), within: Limits.start) != nil else { throw .disconnected }
    }

    deinit { unsafe _ = sd_bus_flush_close_unref(bus) }

    /// Takes a name, which nobody can then take away.
    ///
    /// - Parameter name: A well-known name.
    /// - Throws: `BusFailure.nameTaken`.
    public func take(name: String) throws(BusFailure) {
        // Not in the queue of those that wait for it.
        let answer = ask("RequestName", .string(name), .uint32(4))?.values()
        guard case .uint32(let result)? = answer?.first else { throw .disconnected }
        guard result == 1 else { throw .nameTaken }
    }

    /// Has ``run(_:)`` tell who has a name, and each change.
    ///
    /// - Parameter name: A well-known name.
    public func follow(name: String) { followed.insert(name) }

    /// Receives until the bus ends the connection.
    ///
    /// - Parameter receive: Gets each event, on this thread.
    public func run(_ receive: (BusEvent) -> Void) {
        outbox.begin()
        for name in followed { receive(.named(name, owner(of: name))) }
        while let (isDone, message) = next() {
            if let message { take(message, receive) }
            executor.run()
            send()
            if !isDone, !wait() { return }
        }
    }

    /// The next message, those first that came while an answer was waited for.
    ///
    /// - Returns: Whether there was something to do, and the message, unless sd-bus took it itself; nil if nothing can be read
    ///   any more.
    func next() -> (isDone: Bool, message: BusMessage?)? {
        early.isEmpty ? read() : (true, early.removeFirst())
    }

    private func read() -> (isDone: Bool, message: BusMessage?)? {
        var received: OpaquePointer?
        // It answers some calls itself, and closes what came along with them. It waits for nothing else.
        touchstone_interrupt_closing(true)
        let result = unsafe sd_bus_process(bus, &received)
        touchstone_interrupt_closing(false)
        guard result >= 0 else { return nil }
        return (result > 0, unsafe received.map { unsafe BusMessage($0) })
    }

    private func wait() -> Bool {
        let socket = unsafe sd_bus_get_fd(bus)
        let events = unsafe sd_bus_get_events(bus)
        guard socket >= 0, events >= 0 else { return false }
        var until = UInt64.max
        _ = unsafe sd_bus_get_timeout(bus, &until)
        var milliseconds: Int32 = -1
        if until != .max {
            var now = timespec()
            _ = unsafe clock_gettime(CLOCK_MONOTONIC, &now)
            let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
            milliseconds = until > microseconds ? Int32(clamping: (until - microseconds) / 1000 + 1) : 0
        }
        var entries = [
            pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0),
            pollfd(fd: outbox.wakeup, events: Int16(POLLIN), revents: 0),
        ]
        let count = unsafe poll(&entries, 2, milliseconds)
        if count > 0, entries[1].revents != 0 { outbox.drain() }
        return count >= 0 || errno == EINTR
    }

    // MARK: Receiving

    private func take(_ message: BusMessage, _ receive: (BusEvent) -> Void) {
        if message.isSignal(Self.driver, "NameOwnerChanged"), message.sender == Self.driver {
            guard let values = message.values(), values.count == 3, let name = values[0].text else { return }
            if followed.contains(name) {
                return receive(.named(name, values[2].text.flatMap { $0.isEmpty ? nil : $0 }))
            }
            guard name.hasPrefix(":") else { return }
            peers[name] = values[2].text == name ? peer(of: name) : nil
            return receive(values[2].text == name ? .joined(name, peers[name]) : .left(name))
        }
        guard message.isCall else { return }
        let sender = message.sender
        // Secrets come in calls, too.
        unsafe _ = sd_bus_message_sensitive(message.message)
        // A large message is not kept: nothing of it was asked for that is served here.
        guard let (arguments, bytes) = message.read() else {
            return refuse(message, "\(Self.driver).Error.InvalidArgs", "The arguments are malformed, or too large.")
        }
        // Asked for with each call, it would take as long as the call.
        if peers[sender] == nil { peers[sender] = peer(of: sender) }
        let peer = peers[sender]
        let sharer = peer.map { Sharer.process($0.processID) } ?? .connection(sender)
        let load = Load(calls: 1, bytes: bytes)
        let ofOne = loads[sharer, default: Load()] + load
        guard (self.load + load).isWithin(Limits.all), ofOne.isWithin(Limits.ofOneProcess) else {
            return refuse(message, "\(Self.driver).Error.LimitsExceeded", "Too many calls wait.")
        }
        self.load = self.load + load
        loads[sharer] = ofOne
        number += 1
        waiting[number] = Call(message: message, sharer: sharer, load: load)
        let call = BusCall(
            number: number, sender: sender, path: message.path, interface: message.interface, member: message.member,
            arguments: arguments)
        receive(.call(call, peer))
    }

    /// What the bus knows of a connection.
    ///
    /// - Parameter name: Its unique name, or a well-known one.
    /// - Returns: Its process; nil where there is no such connection.
    public func peer(of name: String) -> BusPeer? {
        guard let found = ask("GetConnectionCredentials", .string(name))?.values()?.first?.dictionary,
            case .uint32(let process)? = found["ProcessID"], case .uint32(let user)? = found["UnixUserID"]
        else { return nil }
        return BusPeer(processID: Int32(clamping: process), userID: user)
    }

    /// Asks the bus itself; nil for an error.
    func ask(
        _ method: String, _ arguments: BusValue..., within seconds: Duration = Limits.driver
    ) -> BusMessage? {
        let answer = answer(of: Self.driver, "/org/freedesktop/DBus", Self.driver, method, arguments, within: seconds)
        guard case .answer(let message) = answer, message.refusal == nil else { return nil }
        return message
    }

    /// What became of a call.
    enum CallEnd {
        /// The answer, or the refusal.
        case answer(BusMessage)
        /// The arguments cannot be sent.
        case malformed
        /// None came in time, or nothing can be read any more.
        case noAnswer
    }

    /// Calls a method, and waits for the answer.
    ///
    /// sd_bus_call would take an answer of anybody, because the bus of a session delivers answers that nobody has asked for. What
    /// came along with one would be closed where no timer interrupts that (DEC-595).
    ///
    /// - Parameters:
    ///   - connection: The unique name of who is called, or the bus's own.
    ///   - path: The object.
    ///   - interface: Whose method it is.
    ///   - member: The method.
    ///   - arguments: What it takes.
    ///   - isSensitive: Whether the memory of both messages is wiped.
    ///   - seconds: How long it waits. What else comes meanwhile is for ``next()``.
    /// - Returns: What became of it.
    func answer(
        of connection: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue],
        isSensitive: Bool = false, within seconds: Duration
    ) -> CallEnd {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_method_call(bus, &made, connection, path, interface, member) >= 0,
            let request = unsafe made.map({ unsafe BusMessage($0) })
        else { return .noAnswer }
        if isSensitive { unsafe _ = sd_bus_message_sensitive(request.message) }
        guard request.append(arguments) else { return .malformed }
        var cookie: UInt64 = 0
        guard unsafe sd_bus_send(bus, request.message, &cookie) >= 0 else { return .noAnswer }
        let end = ContinuousClock.now + seconds
        while .now < end, early.count < Limits.early, let (isDone, message) = read() {
            if let message {
                if message.answeredCookie == nil { early.append(message) }
                // The bus itself says that there is no such connection any more. Who else answers was not asked.
                if message.answeredCookie == cookie, [connection, Self.driver].contains(message.sender) {
                    if isSensitive { unsafe _ = sd_bus_message_sensitive(message.message) }
                    return .answer(message)
                }
            }
            // Once in a second the time is looked at.
            if !isDone { unsafe _ = sd_bus_wait(bus, 1_000_000) }
        }
        return .noAnswer
    }

    // MARK: Sending

    private func send() {
        for letter in outbox.take() {
            switch letter {
            case .reply(let number, let values, let isSecret):
                guard let call = done(number), call.expectsReply else { continue }
                var made: OpaquePointer?
                guard unsafe sd_bus_message_new_method_return(call.message, &made) >= 0,
                    let reply = unsafe made.map({ unsafe BusMessage($0) })
                else { continue }
                if isSecret { unsafe _ = sd_bus_message_sensitive(reply.message) }
                guard reply.append(values) else {
                    refuse(call, "\(Self.driver).Error.Failed", "an answer could not be written")
                    continue
                }
                unsafe _ = sd_bus_send(bus, reply.message, nil)
            case .refusal(let number, let name, let text):
                if let call = done(number) { refuse(call, name, text) }
            case .signal(let path, let interface, let member, let values, let receiver, _):
                var made: OpaquePointer?
                guard unsafe sd_bus_message_new_signal(bus, &made, path, interface, member) >= 0,
                    let signal = unsafe made.map({ unsafe BusMessage($0) }), signal.append(values)
                else { continue }
                if let receiver { unsafe _ = sd_bus_message_set_destination(signal.message, receiver) }
                unsafe _ = sd_bus_send(bus, signal.message, nil)
            case .call(let service, let path, let interface, let member, let values):
                var made: OpaquePointer?
                guard unsafe sd_bus_message_new_method_call(bus, &made, service, path, interface, member) >= 0,
                    let call = unsafe made.map({ unsafe BusMessage($0) }), call.append(values)
                else { continue }
                unsafe _ = sd_bus_message_set_expect_reply(call.message, 0)
                unsafe _ = sd_bus_send(bus, call.message, nil)
            }
        }
    }

    private func done(_ number: UInt64) -> BusMessage? {
        guard let call = waiting.removeValue(forKey: number) else { return nil }
        load = load - call.load
        let left = loads[call.sharer, default: call.load] - call.load
        loads[call.sharer] = left.calls == 0 ? nil : left
        return call.message
    }

    private func refuse(_ call: BusMessage, _ name: String, _ text: String) {
        guard call.expectsReply else { return }
        var error = unsafe sd_bus_error()
        unsafe name.withCString { name in
            unsafe text.withCString { text in
                unsafe error.name = unsafe name
                unsafe error.message = unsafe text
                unsafe _ = sd_bus_reply_method_error(call.message, &error)
            }
        }
    }
}
