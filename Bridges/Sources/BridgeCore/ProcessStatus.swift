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
    private static let space = UInt8(ascii: " ")

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
        let fields = line[(close + 1)...].split(separator: Self.space, maxSplits: 20)
        guard fields.count > 19, let state = fields[0].first, let parent = Int32(text(fields[1])),
            let session = Int32(text(fields[3])), let terminal = Int32(text(fields[4])),
            let started = UInt64(text(fields[19]))
        else { return nil }
        name = text(line[(open + 1)..<close])
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

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
