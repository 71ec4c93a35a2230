public import Foundation
internal import Synchronization
internal import TouchstoneCore
import TouchstoneSystem
internal import TouchstoneTransport

/// The replies of one call, as they come.
///
/// > Concurrency: One thread reads with ``next()``; any thread may ``close()``, which ends a read that waits.
public final class DeviceStream: Sendable {
    private let channel: any VarlinkChannel
    private let isAtEnd = Atomic(false)

    init(_ paths: DevicePaths, _ method: String, _ parameters: Data, more: Bool) throws(DeviceError) {
        channel = try paths.connect()
        do {
            try channel.send(method, json: parameters, more: more)
        } catch {
            throw error == .closed ? .closed : .malformedRequest
        }
    }

    /// Waits for the next reply.
    ///
    /// - Returns: The text of a JSON object; nil after the last.
    /// - Throws: `DeviceError`, after which there is no next.
    public func next() throws(DeviceError) -> Data? {
        guard !isAtEnd.load(ordering: .relaxed) else { return nil }
        do {
            let reply = try channel.receiveJSON()
            if !reply.continues { isAtEnd.store(true, ordering: .relaxed) }
            return reply.parameters
        } catch {
            isAtEnd.store(true, ordering: .relaxed)
            throw DeviceError(error)
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
