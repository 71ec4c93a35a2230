public import Foundation
public import TouchstoneDevice

/// What a bridge says beside the reason, and checked or recorded itself (ND-5).
public struct Fact: Hashable, Sendable, Codable {
    /// What it is about.
    public enum Kind: String, Sendable, Codable {
        case host, hostKey, user, namespace, item, site, account, command, file, secrets, recipient
    }

    /// What it is about.
    public var kind: Kind
    /// What is shown; the device cleans it, and cuts it after 256 characters.
    public var text: String

    /// Says something about it.
    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }
}

/// How the owner is asked: `Options` of the device's interfaces.
public struct AskingOptions: Sendable, Encodable {
    var reason: String
    var reuseDuration = 0.0
    var interactionNotAllowed = false
    var waitsForTurn = true
    var validFor: Double
    var facts: [Fact]?

    /// The same, for a call that fails where the owner would have to be asked once more.
    public var askingNobody: AskingOptions {
        var options = self
        options.interactionNotAllowed = true
        return options
    }
}

/// A context in which the owner proves something, for one purpose of one client.
///
/// A call that may want the owner gets `context` and `options` of it as they are. Without options nobody is asked, because the owner was
/// asked before.
public struct Proof: Sendable {
    /// The connection to which the context belongs.
    public let connection: DeviceConnection
    /// Its name.
    public let context: String
    /// How the owner is asked; nil where the context has proven it already.
    public let options: AskingOptions?

    /// Calls a method.
    ///
    /// - Parameters:
    ///   - method: Interface and method, without `io.touchstone.`.
    ///   - parameters: Encodes as a JSON object.
    ///   - reply: What the answer decodes as.
    /// - Returns: The answer.
    /// - Throws: `DeviceError`.
    public func call<Reply: Decodable>(
        _ method: String, _ parameters: some Encodable, _ reply: Reply.Type = Reply.self
    ) throws(DeviceError) -> Reply {
        try connection.call(method, parameters, reply)
    }

    /// The same, for calls that fail where the owner would have to be asked once more.
    public var askingNobody: Proof { Proof(connection: connection, context: context, options: options?.askingNobody) }

    private struct SignRequest: Encodable {
        var key: Data
        var data: Data
        var context: String
        var options: AskingOptions?
        var keyLabel: String
    }
    private struct SignReply: Decodable { var signature: Data }

    /// Has the enclave sign with a key of P-256.
    ///
    /// - Parameters:
    ///   - digest: 32 bytes.
    ///   - key: What the enclave calls it.
    ///   - label: What the owner calls it, for the prompt.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: `DeviceError`.
    public func sign(_ digest: Data, with key: Data, label: String) throws(DeviceError) -> Data {
        let request = SignRequest(key: key, data: digest, context: context, options: options, keyLabel: label)
        return try call("Key.Sign", request, SignReply.self).signature
    }
}

extension DeviceConnection {
    /// Calls a method with values in the place of texts.
    ///
    /// - Parameters:
    ///   - method: Interface and method, without `io.touchstone.`.
    ///   - parameters: Encodes as a JSON object; data is base64.
    ///   - reply: What the answer decodes as.
    /// - Returns: The answer.
    /// - Throws: `DeviceError`.
    public func call<Reply: Decodable>(
        _ method: String, _ parameters: some Encodable, _ reply: Reply.Type = Reply.self
    ) throws(DeviceError) -> Reply {
        let request: Data
        do { request = try JSONEncoder().encode(parameters) } catch { throw .malformedRequest }
        let answer = try call("io.touchstone.\(method)", request)
        do { return try JSONDecoder().decode(reply, from: answer) } catch { throw .malformedReply }
    }
}

/// An object without fields, as parameters or as an answer.
public struct Nothing: Sendable, Codable {
    /// The one value.
    public init() {}
}
