import Foundation
import HTTPTypes
import Hummingbird
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

/// What a server answered.
struct Answer: Sendable, Equatable {
    let status: Int
    let headers: HTTPFields
    let body: Data

    static let refused = "{\"error\":\"refused\"}"

    var text: String { String(decoding: body, as: UTF8.self) }
    var isRefusal: Bool { status == 401 && text == Self.refused }

    func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: body)
    }

    var retryAfter: String? { headers[.retryAfter] }

    func header(_ name: String) -> String? { headers[HTTPField.Name(name)!] }

    /// A cookie's name and value, as a browser sends it back.
    var cookie: String? { headers[.setCookie].map { String($0.prefix { $0 != ";" }) } }
}

extension TestServer {
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable)? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var bytes: Data?
        if let body { bytes = try JSONEncoder().encode(body) }
        return try await send(method, path, bytes: bytes, headers: headers)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, bytes: Data?, headers: [String: String] = [:]
    ) async throws -> Answer {
        var fields: HTTPFields = bytes == nil ? [:] : [.contentType: "application/json"]
        for (name, value) in headers { fields[HTTPField.Name(name)!] = value }
        return try await client.send(method, path, bytes, headers: fields)
    }

    func post(_ path: String, _ body: (any Encodable)? = nil, headers: [String: String] = [:]) async throws -> Answer {
        try await send(.post, path, body, headers: headers)
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        try await send(.get, path, headers: headers)
    }

    func challenge(for purpose: Purpose, keyID: Data) async throws -> Data {
        let answer = try await post("/v1/challenges", Body.ChallengeRequest(keyID: keyID.base64URL, purpose: purpose))
        return Data(base64URL: try answer.decode(Body.Challenge.self).challenge)!
    }

    /// `Authorization` of a password session.
    func passwordSession() async throws -> [String: String] {
        let answer = try await post("/v1/password-sessions", Body.Password(name: Self.name, password: Self.password))
        return ["Authorization": "Bearer \(try answer.decode(Body.PasswordSession.self).token)"]
    }
}
