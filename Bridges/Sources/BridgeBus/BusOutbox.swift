internal import Glibc
internal import Synchronization

/// What goes out over the bus: any thread puts it here, and the bus's own thread sends it.
public final class BusOutbox: Sendable {
    enum Letter: Sendable {
        case reply(UInt64, [BusValue], isSecret: Bool)
        case refusal(UInt64, name: String, text: String)
        case signal(path: String, interface: String, member: String, [BusValue], to: String?, isLast: Bool)
        case call(String, path: String, interface: String, member: String, [BusValue])

        /// Whether it goes after what has come with it.
        var isLast: Bool {
            guard case .signal(_, _, _, _, _, let isLast) = self else { return false }
            return isLast
        }
    }

    private let letters = Mutex<[Letter]>([])
    /// Readable when there is something to send.
    let wakeup: Int32
    private let waker: Int32
    /// The bus's own thread, once it runs.
    private let thread = Atomic<pthread_t>(0)

    init() {
        var ends: [Int32] = [-1, -1]
        // At the start of the process, which is nothing without its bus.
        guard unsafe pipe(&ends) == 0 else { fatalError("no pipe left") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (wakeup, waker) = (ends[0], ends[1])
    }

    deinit {
        close(wakeup)
        close(waker)
    }

    /// Answers a call; a second answer of the same call is dropped.
    ///
    /// - Parameters:
    ///   - call: Which one.
    ///   - values: What its method returns.
    ///   - isSecret: Whether its memory is wiped after it was sent.
    public func reply(_ call: BusCall, _ values: [BusValue] = [], isSecret: Bool = false) {
        put(.reply(call.number, values, isSecret: isSecret))
    }

    /// Refuses a call.
    ///
    /// - Parameters:
    ///   - call: Which one.
    ///   - name: Of a D-Bus error.
    ///   - text: For a developer to read.
    public func refuse(_ call: BusCall, _ name: String, _ text: String) {
        put(.refusal(call.number, name: name, text: text))
    }

    /// Sends a signal.
    ///
    /// - Parameters:
    ///   - member: Its name.
    ///   - interface: Whose signal it is.
    ///   - path: The object that it is of.
    ///   - values: What it carries.
    ///   - receiver: A unique name; nil for everybody.
    ///   - isLast: Whether answers that are given in the same turn are sent before it: somebody waits for them.
    public func signal(
        _ member: String, of interface: String, at path: String, _ values: [BusValue], to receiver: String?,
        isLast: Bool = false
    ) {
        put(.signal(path: path, interface: interface, member: member, values, to: receiver, isLast: isLast))
    }

    /// Calls a method of another program, whose answer nobody waits for.
    ///
    /// - Parameters:
    ///   - service: The name of who is called; the bus starts it if it can.
    ///   - path: The object.
    ///   - interface: Whose method it is.
    ///   - member: The method.
    ///   - arguments: What it takes.
    public func call(
        _ service: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]
    ) {
        put(.call(service, path: path, interface: interface, member: member, arguments))
    }

    private func put(_ letter: Letter) {
        let isFirst = letters.withLock { letters in
            letters.append(letter)
            return letters.count == 1
        }
        // The bus's own thread sends before it waits.
        if isFirst, !isHere { wake() }
    }

    /// Has the bus's own thread look at what there is to do.
    func wake() {
        // Where the pipe is full, it is readable already.
        var one: UInt8 = 1
        _ = unsafe write(waker, &one, 1)
    }

    /// From now on this thread is the bus's own.
    func begin() { thread.store(pthread_self(), ordering: .relaxed) }

    /// Whether this is the bus's own thread.
    var isHere: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Takes note of what ``wake()`` wrote.
    func drain() {
        var dropped = [UInt8](repeating: 0, count: 4096)
        _ = unsafe read(wakeup, &dropped, dropped.count)
    }

    func take() -> [Letter] {
        let taken = letters.withLock { letters in
            defer { letters = [] }
            return letters
        }
        return taken.contains(where: \.isLast) ? taken.filter { !$0.isLast } + taken.filter(\.isLast) : taken
    }
}

/// A call of a method, as it came over the bus.
public struct BusCall: Sendable {
    let number: UInt64
    /// The unique name of the connection that sent it.
    public let sender: String
    /// The object.
    public let path: String
    /// nil where the caller did not name it.
    public let interface: String?
    /// The method.
    public let member: String
    /// Its arguments.
    public let arguments: [BusValue]

    /// The types of its arguments, as D-Bus writes them.
    public var signature: String { arguments.map(\.signature).joined() }
}

/// What the bus knows of a connection (BR-10).
public struct BusPeer: Hashable, Sendable {
    /// The process that connected.
    public var processID: Int32
    /// Its user.
    public var userID: UInt32
}

/// What comes over the bus.
public enum BusEvent: Sendable {
    /// A method is called.
    case call(BusCall, BusPeer?)
    /// A connection is new on the bus.
    case joined(String, BusPeer?)
    /// A connection left the bus.
    case left(String)
    /// A well-known name that is followed has this owner now; nil where nobody has it.
    case named(String, String?)
}

/// Why there is no bus.
public enum BusFailure: Error, Hashable, Sendable {
    /// It is not there, or ended the connection.
    case disconnected
    /// Another program has the name.
    case nameTaken
    /// Another program answered a call with the D-Bus error of this name.
    case refused(String)
    /// Another program answered with values of types that are not read here, or with too many.
    case malformed
}
