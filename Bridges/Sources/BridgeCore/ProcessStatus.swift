import Glibc

/// One line of `/proc/PID/stat`.
///
/// Bridges read it a few times for each request, so that it is taken apart as bytes.
struct ProcessStatus {
    /// What the process calls itself.
    let name: String
    /// It has ended, and only its number is still taken.
    let isOver: Bool
    let parent: Int32
    let session: Int32
    /// The number of its terminal's device; nil if it has no terminal.
    let terminal: Int32?
    /// When it began, in ticks since the system was booted.
    let started: UInt64

    /// More than the longest line has.
    private static let longest = 4096

    /// The status of the process that has this number now; nil if no process has it.
    init?(_ processID: Int32) {
        guard let line = Self.line(of: processID) else { return nil }
        self.init(line)
    }

    /// - Parameter line: As the kernel writes it; anything else is nil.
    init?(_ line: [UInt8]) {
        // The name is in parentheses, and may hold spaces and parentheses.
        guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
            open < close
        else { return nil }
        // From field 3 on.
        var fields = Fields(line, from: close + 1)
        guard let state = fields.next()?.first, let parent = fields.number(Int32.self), fields.next() != nil,
            let session = fields.number(Int32.self), let terminal = fields.number(Int32.self)
        else { return nil }
        for _ in 8..<22 where fields.next() == nil { return nil }
        guard let started = fields.number(UInt64.self) else { return nil }
        name = String(decoding: line[(open + 1)..<close], as: UTF8.self)
        isOver = state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
        self.parent = parent
        self.session = session
        self.terminal = terminal == 0 ? nil : terminal
        self.started = started
    }

    private static func line(of processID: Int32) -> [UInt8]? {
        let file = unsafe open("/proc/\(processID)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let line = unsafe [UInt8](unsafeUninitializedCapacity: longest) { room, count in
            count = unsafe max(0, read(file, room.baseAddress, room.count))
        }
        return line.isEmpty ? nil : line
    }
}

/// What stands between spaces, one after the other.
///
/// Without a text or a list of them: who asks, and who started it, is looked up with each signature.
private struct Fields {
    private let line: [UInt8]
    private var position: Int

    init(_ line: [UInt8], from position: Int) {
        self.line = line
        self.position = position
    }

    /// nil at the end.
    mutating func next() -> ArraySlice<UInt8>? {
        let space = UInt8(ascii: " ")
        while position < line.count, line[position] == space { position += 1 }
        let start = position
        while position < line.count, line[position] != space { position += 1 }
        return start == position ? nil : line[start..<position]
    }

    /// nil for what is not a decimal number, or does not fit.
    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        guard var digits = next() else { return nil }
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        guard !digits.isEmpty else { return nil }
        var number: Number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let value = Number(digit - UInt8(ascii: "0"))
            let (ten, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) =
                isNegative ? ten.subtractingReportingOverflow(value) : ten.addingReportingOverflow(value)
            guard !isTooLarge, !isOver else { return nil }
            number = sum
        }
        return number
    }
}
