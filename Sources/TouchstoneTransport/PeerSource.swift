/// Who can say who is at the other end of a connection.
package protocol PeerSource: Sendable {
    /// The peer of a connected socket; nil where the kernel does not say.
    ///
    /// To be asked before the first byte is read, so that what comes later is held against the program that ran then.
    func peer(ofSocket socket: Int32) -> Peer?
}

/// A process that a bridge asks for: its number, and when it began, which together name one process and never another (ND-1).
package struct ClientProcess: Hashable, Sendable {
    package let processID: Int32
    /// Ticks since the system was booted: field 22 of `/proc/PID/stat`.
    package let startTicks: Int64

    package init(processID: Int32, startTicks: Int64) {
        self.processID = processID
        self.startTicks = startTicks
    }
}
