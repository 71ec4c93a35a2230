public import TouchstoneDevice

/// Why a bridge does not start.
public struct StartFailure: Error, CustomStringConvertible, Sendable {
    /// A sentence for the person who started it.
    public let description: String
}

/// A resident bridge on a Unix socket, from its start to its end.
public struct SocketBridge: Sendable {
    /// The device whose keys and items it serves.
    public let device: Device
    /// What other programs of the owner's can do to it.
    public let protection: BridgeProcess.Protection
    private let listener: ClientListener
    private let place: String

    /// Closes the process to other programs as far as it can be, finds the device, and listens.
    ///
    /// To be called before any thread is started. From then on SIGTERM and SIGINT remove the socket, and end the process with status 0.
    ///
    /// - Parameters:
    ///   - path: Where a person wants it; nil for the socket that systemd passed.
    ///   - usual: Where it is if neither says so. Its directory is made.
    /// - Throws: `StartFailure`.
    public init(path: String?, usual: String? = nil) throws(StartFailure) {
        protection = BridgeProcess.harden()
        do { device = try Device.selected() } catch {
            throw StartFailure(
                description: "TOUCHSTONE_DEVICE cannot name a device; unset it, or set it to a name such as default")
        }
        do throws(ListenError) {
            if path == nil, let activated = try ClientListener.activated() {
                (listener, place) = (activated, "systemd's socket")
            } else if let chosen = path ?? usual {
                if path == nil { ClientListener.makeDirectory(of: chosen) }
                (listener, place) = (try ClientListener(path: chosen), chosen)
            } else {
                throw .nowhere
            }
        } catch {
            throw StartFailure(description: "\((path ?? usual).map { "\($0): " } ?? "")\(error)")
        }
        BridgeProcess.endsWithSignals { [listener] in listener.remove() }
    }

    /// Says that it is ready, and serves whoever connects until the process ends.
    ///
    /// - Parameter serve: Serves one connection, on a thread of its own; the connection ends when it returns.
    public func run(_ serve: @escaping @Sendable (ClientConnection) -> Void) -> Never {
        if protection == .ordinary {
            BridgeProcess.log("an ordinary program: your other programs can read its memory, and act as it")
        }
        BridgeProcess.say("ready: \(place), device \(device.name)")
        BridgeProcess.rests()
        listener.run(serve)
    }
}
