internal import CSystemd
internal import Glibc

/// One connection to a D-Bus, for one thread.
///
/// Every wait has a deadline. It believes an answer only from the connection that it asked, and reads only text and truth values.
/// Methods and names that other programs call here, sd-bus refuses by itself. Any program may send signals here, past every match rule:
/// only those of the bus and of the owners of followed names count, and others do not fill the queue.
@safe final class MessageBus {
    enum Failure: Error, Equatable {
        /// The bus is not there, or ended the connection.
        case disconnected
        /// No answer in time.
        case late
        /// The error's D-Bus name.
        case refused(String)
        /// An answer that is not of the kind that was asked for.
        case malformed
    }

    /// The bus itself, as a sender: no other program can have this name.
    static let driver = "org.freedesktop.DBus"

    struct Signal {
        /// The connection that sent it.
        var sender: String
        /// The followed name that was its sender's when it came; the bus's own for the bus.
        var service = ""
        var path: String
        /// Interface and member.
        var name: String
        var texts: [String]
        var flag: Bool?

        /// The name that another connection has now, or nobody, where that is what the bus says.
        var changedName: String? {
            sender == MessageBus.driver && name == "\(MessageBus.driver).NameOwnerChanged" && texts.count == 3
                ? texts[0] : nil
        }
    }

    private enum Limits {
        /// Signals of followed names that came while an answer was awaited; more of them are dropped, and that is told.
        static let signals = 64
        /// Seconds: reading ends after this time, even if more is being sent.
        static let taking = 0.2
        static let texts = 32
        static let textBytes = 256
    }

    private let bus: OpaquePointer
    private var signals: [Signal] = []
    private var isLossy = false
    /// The connection that each followed name is of; nil if it is nobody's.
    private var owners: [String: String?] = [:]

    /// Connects to the bus whose Unix socket is at `path`, within `seconds`; what comes may have descriptors only where it `takesDescriptors`.
    init(path: String, takesDescriptors: Bool = false, within seconds: Double) throws(Failure) {
        let socket = try Self.connect(path)
        var made: OpaquePointer?
        guard unsafe sd_bus_new(&made) >= 0, let bus = unsafe made else {
            close(socket)
            throw .disconnected
        }
        unsafe self.bus = bus
        guard unsafe sd_bus_set_fd(bus, socket, socket) >= 0 else {
            close(socket)
            throw .disconnected
        }
        guard unsafe sd_bus_set_bus_client(bus, 1) >= 0,
            unsafe sd_bus_negotiate_fds(bus, takesDescriptors ? 1 : 0) >= 0,
            unsafe sd_bus_start(bus) >= 0
        else { throw .disconnected }
        let deadline = MonotonicClock.now + seconds
        while unsafe sd_bus_is_ready(bus) <= 0 {
            if try step() == nil { try wait(until: deadline) }
        }
    }

    deinit { unsafe _ = sd_bus_close_unref(bus) }

    private static func connect(_ path: String) throws(Failure) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard !bytes.isEmpty, bytes.count < capacity else { throw .disconnected }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard socket >= 0 else { throw .disconnected }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(socket, $0, length) == 0
            }
        }
        guard isConnected else {
            close(socket)
            throw .disconnected
        }
        return socket
    }

    // MARK: calls

    /// Calls a method whose arguments are text, and returns the text of its answer.
    ///
    /// `service` is the bus itself or a unique name: the answer has to come from it, or be an error of the bus.
    @discardableResult
    func call(
        _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [String] = [],
        number: UInt32? = nil, within seconds: Double
    ) throws(Failure) -> [String] {
        let answer = try answer(service, path, interface, method, arguments, number, seconds)
        guard let texts = answer.texts(atMost: Limits.texts, bytes: Limits.textBytes) else { throw .malformed }
        return texts
    }

    /// As `call`, of a method that answers with a descriptor, which the caller closes.
    func callForDescriptor(
        _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [String],
        within seconds: Double
    ) throws(Failure) -> Int32 {
        let answer = try answer(service, path, interface, method, arguments, nil, seconds)
        guard let descriptor = answer.descriptor() else { throw .malformed }
        return descriptor
    }

    private func answer(
        _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [String],
        _ number: UInt32?, _ seconds: Double
    ) throws(Failure) -> BusMessage {
        let deadline = MonotonicClock.now + seconds
        let cookie = try send(service, path, interface, method, arguments, number)
        while true {
            guard let message = try step() else {
                try wait(until: deadline)
                continue
            }
            guard let message = message.value else {
                if MonotonicClock.now > deadline { throw .late }
                continue
            }
            guard message.isAnswer(to: cookie) else {
                keep(message)
                if MonotonicClock.now > deadline { throw .late }
                continue
            }
            let sender = message.sender
            if let error = message.errorName {
                guard sender == service || sender == Self.driver else { continue }
                throw .refused(error)
            }
            guard sender == service else { continue }
            return message
        }
    }

    private func send(
        _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [String],
        _ number: UInt32?
    ) throws(Failure) -> UInt64 {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_method_call(bus, &made, service, path, interface, method) >= 0,
            let message = unsafe made
        else { throw .disconnected }
        defer { unsafe _ = sd_bus_message_unref(message) }
        for argument in arguments {
            let isAppended = unsafe argument.withCString {
                unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "s")), $0) >= 0
            }
            guard isAppended else { throw .malformed }
        }
        if var number {
            guard unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: "u")), &number) >= 0 else {
                throw .malformed
            }
        }
        var cookie: UInt64 = 0
        guard unsafe sd_bus_send(bus, message, &cookie) >= 0 else { throw .disconnected }
        return cookie
    }

    // MARK: names

    /// From now on listens to the owner of this name, even if that changes.
    ///
    /// Nobody else is heard.
    ///
    /// Before the match rules for its signals, so that none of them comes from somebody who is not known yet.
    func follow(_ name: String, within seconds: Double) throws(Failure) {
        try match("type='signal',sender='\(Self.driver)',member='NameOwnerChanged',arg0='\(name)'", within: seconds)
        owners.updateValue(nil, forKey: name)
        try findOwner(of: name, within: seconds)
    }

    /// The connection that a followed name is of, as far as was heard; nil if it is nobody's.
    func owner(of name: String) -> String? { owners[name] ?? nil }

    /// The same, asked again.
    @discardableResult
    func findOwner(of name: String, within seconds: Double) throws(Failure) -> String? {
        do throws(Failure) {
            let answer = try call(
                Self.driver, "/org/freedesktop/DBus", Self.driver, "GetNameOwner", [name], within: seconds)
            guard answer.count == 1, answer[0].hasPrefix(":") else { throw .malformed }
            owners.updateValue(answer[0], forKey: name)
        } catch {
            guard error == .refused("org.freedesktop.DBus.Error.NameHasNoOwner") else { throw error }
            owners.updateValue(nil, forKey: name)
        }
        return owner(of: name)
    }

    /// Has the bus pass on the signals that fit this rule.
    func match(_ rule: String, within seconds: Double) throws(Failure) {
        try call(Self.driver, "/org/freedesktop/DBus", Self.driver, "AddMatch", [rule], within: seconds)
    }

    // MARK: signals

    /// The next signal; nil once `descriptor` can be read or the time is over.
    func next(before deadline: Double?, or descriptor: Int32) throws(Failure) -> Signal? {
        while true {
            if !signals.isEmpty { return signals.removeFirst() }
            if let message = try step() {
                if let message = message.value { keep(message) }
                // A bus that never falls silent keeps nobody from being heard.
                if Self.isReadable(descriptor) { return signals.isEmpty ? nil : signals.removeFirst() }
                continue
            }
            if let deadline, MonotonicClock.now >= deadline { return nil }
            if try poll(until: deadline, or: descriptor) { return nil }
        }
    }

    /// What came until now and was not asked for yet.
    func takeSignals() throws(Failure) -> [Signal] {
        let deadline = MonotonicClock.now + Limits.taking
        while let message = try step() {
            if let message = message.value { keep(message) }
            guard MonotonicClock.now < deadline else {
                // What counts may be behind it.
                isLossy = true
                break
            }
        }
        defer { signals = [] }
        return signals
    }

    /// What came before the last answer and was not asked for yet.
    func takeKeptSignals() -> [Signal] {
        defer { signals = [] }
        return signals
    }

    /// Whether signals were dropped since this was last asked.
    func takeLoss() -> Bool {
        defer { isLossy = false }
        return isLossy
    }

    private func keep(_ message: BusMessage) {
        let sender = message.sender
        guard let service = sender == Self.driver ? sender : owners.first(where: { $0.value == sender })?.key,
            var signal = message.signal(bytes: Limits.textBytes)
        else { return }
        signal.service = service
        // In the order in which it came: what the old owner said before the change counts, and what it says afterwards does not.
        if let name = signal.changedName, owners.keys.contains(name) {
            owners.updateValue(signal.texts[2].isEmpty ? nil : signal.texts[2], forKey: name)
        }
        guard signals.count < Limits.signals else { return isLossy = true }
        signals.append(signal)
    }

    // MARK: work

    private struct Step { var value: BusMessage? }

    /// Does one piece of work; nil if there is none.
    private func step() throws(Failure) -> Step? {
        var message: OpaquePointer?
        let result = unsafe sd_bus_process(bus, &message)
        guard result >= 0 else { throw .disconnected }
        guard result > 0 else { return nil }
        return Step(value: unsafe message.map { unsafe BusMessage($0) })
    }

    private func wait(until deadline: Double) throws(Failure) {
        guard MonotonicClock.now < deadline else { throw .late }
        _ = try poll(until: deadline, or: -1)
    }

    /// Whether `descriptor` can be read.
    private func poll(until deadline: Double?, or descriptor: Int32) throws(Failure) -> Bool {
        let socket = unsafe sd_bus_get_fd(bus)
        let events = unsafe sd_bus_get_events(bus)
        guard socket >= 0, events >= 0 else { throw .disconnected }
        var own = UInt64.max
        _ = unsafe sd_bus_get_timeout(bus, &own)
        var limit = deadline ?? .infinity
        if own != .max { limit = min(limit, Double(own) / 1e6) }
        let milliseconds =
            limit == .infinity ? -1 : Int32(min(max((limit - MonotonicClock.now) * 1000, 0), 60_000).rounded(.up))
        var entries = [
            pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe Glibc.poll(&entries, 2, milliseconds)
        return entries[1].revents != 0
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe Glibc.poll(&entry, 1, 0) > 0
    }
}
