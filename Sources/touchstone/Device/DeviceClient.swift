import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// A connection to a booted device whose errors are sentences.
struct DeviceClient {
    let paths: DevicePaths
    private let channel: any VarlinkChannel
    let client: VarlinkClient

    init(_ paths: DevicePaths) throws {
        self.paths = paths
        do {
            channel = try SocketEndpoint(path: paths.socket.path).connect()
        } catch {
            throw Failure.notAnswering(paths)
        }
        client = VarlinkClient(channel)
    }

    func call<M: VarlinkMethod>(_ method: M.Type, _ parameters: M.Parameters) throws -> M.Reply {
        do {
            return try client.call(method, parameters)
        } catch {
            throw Failure.of(error, paths)
        }
    }

    func call<M: VarlinkMethod>(_ method: M.Type) throws -> M.Reply where M.Parameters == Empty {
        try call(method, Empty())
    }

    var status: DeviceInterface.Status {
        get throws { try call(DeviceInterface.GetStatus.self).status }
    }

    func stream<M: VarlinkMethod>(
        _ method: M.Type, _ parameters: M.Parameters, _ body: (M.Reply) throws -> Bool
    ) throws {
        try client.stream(method, parameters, body)
    }

    /// Ends the connection, also under a call that waits in another thread.
    func close() { channel.close() }

    /// Blocks until the other end closes.
    func waitUntilClosed() {
        while (try? channel.receive()) != nil {}
    }

    /// Waits until the device answers, at most `limit`.
    ///
    /// `check` is called between attempts; it throws where there is nothing to wait for any more.
    static func answering(_ paths: DevicePaths, within limit: Duration, check: () throws -> Void) throws
        -> DeviceClient
    {
        let deadline = ContinuousClock.now + limit
        while true {
            if let connection = try? DeviceClient(paths), (try? connection.status) != nil { return connection }
            guard ContinuousClock.now < deadline else {
                throw Failure(.unavailable, "\(paths.name) did not answer within \(limit.inSeconds) s")
            }
            try check()
            Pause.sleep(Pause.connect)
        }
    }
}

/// How long to pause between two looks at something that cannot be waited for.
enum Pause {
    /// Between two attempts to connect to a device that starts.
    static let connect = Duration.milliseconds(5)
    /// Between two looks at whether a prompt is up.
    static let prompt = Duration.milliseconds(20)

    static func sleep(_ duration: Duration) {
        Thread.sleep(forTimeInterval: duration.timeInterval)
    }
}

extension Duration {
    var timeInterval: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }

    /// For messages: "10", "0.5".
    var inSeconds: String {
        timeInterval.formatted(.number.locale(Locale(identifier: "en_US_POSIX")).precision(.fractionLength(0...1)))
    }
}
