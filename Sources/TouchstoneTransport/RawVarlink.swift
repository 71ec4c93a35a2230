package import Foundation
internal import TouchstoneCore

/// What is known of methods whose messages are not.
package enum RawMethods {
    /// Those that take large requests; a test compares them with the interfaces.
    package static let large: Set<String> = [
        "io.touchstone.Keychain.Add", "io.touchstone.Keychain.Update", "io.touchstone.Sync.AddObjects",
    ]

    static func maximumRequestBytes(_ method: String) -> Int {
        large.contains(method) ? VarlinkLimits.maximumLargeRequestBytes : VarlinkLimits.maximumRequestBytes
    }
}

/// Calls whose messages are carried, not read: JSON in, JSON out.
extension VarlinkChannel {
    /// Sends a call with `parameters`, the text of a JSON object.
    ///
    /// - Throws: `.malformed` where `parameters` is none; `.tooLarge`. Then nothing was sent. `.closed`.
    package func send(_ method: String, json parameters: Data, more: Bool) throws(TransportError) {
        var frame = JSONOutput()
        do {
            // Read before it is put among what is ours: a text that is no value could end one and begin another.
            try MessageDecoder(JSONText(parameters)).checkIsObject()
            frame.beginObject()
            try frame.write(method, for: "method")
            frame.key("parameters")
            frame.bytes.append(contentsOf: parameters)
            if more { try frame.write(true, for: "more") }
            frame.endObject()
        } catch {
            throw .malformed
        }
        guard frame.bytes.count <= RawMethods.maximumRequestBytes(method) else { throw .tooLarge }
        try send(Data(frame.bytes))
    }

    /// Waits for the next reply: its parameters, the text of a JSON object, and whether more follow.
    ///
    /// - Throws: `RemoteError`, the peer's answer; `TransportError`, after which the connection is of no more use.
    package func receiveJSON() throws -> (parameters: Data, continues: Bool) {
        let frame = try receive()
        let (error, parameters, continues): (String?, MessageDecoder?, Bool)
        do {
            let reply = try MessageDecoder(JSONText(frame))
            try reply.checkIsObject()
            error = try reply.valueIfPresent("error")
            parameters = reply["parameters"]
            try parameters?.checkIsObject()
            continues = try reply.valueIfPresent("continues") ?? false
        } catch {
            throw TransportError.malformed
        }
        if let error { throw RemoteError(name: error, parameters: parameters?.json) }
        return (parameters?.json ?? Data("{}".utf8), continues)
    }
}
