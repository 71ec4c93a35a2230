public import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneSystem
internal import TouchstoneTransport

/// One connection that stays: calls and streams, one after the other (ND-7).
///
/// What belongs to the connection ends with it: the contexts that it made, and the nonces of `io.touchstone.Device.GetNonce`. So whoever
/// has the owner prove something keeps the connection until the proof was used. A service that had not yet looked at who connects gets
/// what it did not take once more (`io.touchstone.SendAgain`); the caller notices nothing of it.
///
/// ```swift
/// let connection = try device.connect()
/// let context = try connection.call("io.touchstone.Authentication.CreateContext")
/// ```
///
/// > Concurrency: Callable from any thread; a call waits for those before it, and blocks until it is answered. Any thread may ``close()``,
/// which ends a call that waits.
public final class DeviceConnection: Sendable {
    private let channel: any VarlinkChannel
    /// Held over a call.
    private let turn = Mutex(())

    init(_ paths: DevicePaths) throws(DeviceError) {
        channel = try paths.connect()
    }

    /// Calls a method.
    ///
    /// - Parameters:
    ///   - method: Interface and method, as `io.touchstone.Device.GetStatus`.
    ///   - parameters: The text of a JSON object.
    /// - Returns: The text of a JSON object.
    /// - Throws: `DeviceError`. After `.answered` and `.malformedRequest` the connection goes on, after any other it is over. After
    ///   `.closed` it is unknown whether the call was carried out.
    public func call(_ method: String, _ parameters: Data = Data("{}".utf8)) throws(DeviceError) -> Data {
        try turn.withLock { _ throws(DeviceError) -> Data in
            try send(method, parameters, more: false)
            return try receive().parameters
        }
    }

    /// Calls a method that answers more than once, and returns after the last answer.
    ///
    /// Every other call waits until then. For answers that come as long as the connection lives, ``Device/stream(_:_:)`` makes one of
    /// their own.
    ///
    /// - Parameters:
    ///   - method: As of ``call(_:_:)``.
    ///   - parameters: As of ``call(_:_:)``.
    ///   - body: Takes each answer, the text of a JSON object. It says whether it wants more; where it does not, the connection is closed,
    ///     since nobody can tell the answers that still come from those of the next call. It must not call this connection.
    /// - Throws: `DeviceError`, as ``call(_:_:)``.
    public func stream(
        _ method: String, _ parameters: Data = Data("{}".utf8), _ body: (_ reply: Data) -> Bool
    ) throws(DeviceError) {
        try turn.withLock { _ throws(DeviceError) in
            try send(method, parameters, more: true)
            while true {
                let reply = try receive()
                let wantsMore = body(reply.parameters)
                guard reply.continues else { return }
                guard wantsMore else { return close() }
            }
        }
    }

    private func send(_ method: String, _ parameters: Data, more: Bool) throws(DeviceError) {
        do throws(TransportError) {
            try channel.send(method, json: parameters, more: more)
        } catch {
            throw error == .closed ? .closed : .malformedRequest
        }
    }

    private func receive() throws(DeviceError) -> (parameters: Data, continues: Bool) {
        do {
            return try channel.receiveJSON()
        } catch {
            throw DeviceError(error)
        }
    }

    /// Ends the connection, and with it its contexts.
    public func close() {
        channel.close()
    }

    deinit {
        channel.close()
    }
}

extension DevicePaths {
    func connect() throws(DeviceError) -> any VarlinkChannel {
        do {
            return try SocketEndpoint(path: socket.path).connect()
        } catch {
            throw .notBooted
        }
    }
}
