public import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneSystem
internal import TouchstoneTransport

/// Calls over one connection, one after the other.
///
/// A nonce of `io.touchstone.Device.GetNonce` is good on the connection alone that asked for it: what was typed for it goes the same way.
///
/// ```swift
/// let session = try device.session()
/// let reply = try session.call("io.touchstone.Device.GetNonce")
/// ```
///
/// > Concurrency: Callable from any thread; a call waits for those before it, and blocks until it is answered.
public final class DeviceSession: Sendable {
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
    /// - Throws: `DeviceError`. After `.answered` and `.malformedRequest` the session goes on, after any other it is over. After `.closed`
    ///   it is unknown whether the call was carried out.
    public func call(_ method: String, _ parameters: Data = Data("{}".utf8)) throws(DeviceError) -> Data {
        try turn.withLock { _ throws(DeviceError) -> Data in
            do throws(TransportError) {
                try channel.send(method, json: parameters, more: false)
            } catch {
                throw error == .closed ? .closed : .malformedRequest
            }
            do {
                return try channel.receiveJSON().parameters
            } catch {
                throw DeviceError(error)
            }
        }
    }

    /// Ends the connection.
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
