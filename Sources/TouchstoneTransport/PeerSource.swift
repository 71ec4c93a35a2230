/// Who can say who is at the other end of a connection.
package protocol PeerSource: Sendable {
    /// The peer of a connected socket; nil where the kernel does not say.
    ///
    /// To be asked before the first byte is read, so that what comes later is held against the program that ran then.
    func peer(ofSocket socket: Int32) -> Peer?
}
