/// The places of a listener's connections, and which connection gives way to one more (BR-51).
///
/// Connections that wait for their client keep nobody out, however many processes have them.
struct ClientPlaces<Process: Hashable, Program: Hashable> {
    /// One connection.
    struct Holder {
        /// Who connected.
        var process: Process
        /// What that executes; programs that the kernel does not show count as one.
        var program: Program?
        /// Whether nothing is under way: the client has to send or to read.
        var isIdle: () -> Bool
        /// Begins to end the connection.
        var end: () -> Void
    }

    /// Connections of all clients.
    static var all: Int { 256 }
    /// Connections of one process.
    static var ofOneProcess: Int { 32 }

    private var holders: [UInt64: Holder] = [:]
    /// The numbers grow.
    private var last: UInt64 = 0

    /// Gives a connection a place.
    ///
    /// If all are taken, the oldest idle connection of the program that has most connections is ended, and its place is given.
    ///
    /// - Parameter holder: The connection.
    /// - Returns: The number of the place; nil if the process has as many as it may have, or no connection is idle.
    mutating func enter(_ holder: Holder) -> UInt64? {
        guard holders.values.count(where: { $0.process == holder.process }) < Self.ofOneProcess else { return nil }
        if holders.count >= Self.all {
            guard let idle else { return nil }
            holders.removeValue(forKey: idle)?.end()
        }
        last += 1
        holders[last] = holder
        return last
    }

    /// Takes a place back; harmless if another connection has got it meanwhile.
    mutating func leave(_ number: UInt64) { holders[number] = nil }

    private var idle: UInt64? {
        let counts = Dictionary(holders.values.map { ($0.program, 1) }, uniquingKeysWith: +)
        return holders.filter { $0.value.isIdle() }.max { one, other in
            let (ofOne, ofOther) = (counts[one.value.program, default: 0], counts[other.value.program, default: 0])
            return ofOne == ofOther ? one.key > other.key : ofOne < ofOther
        }?.key
    }
}
