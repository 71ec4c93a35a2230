import Foundation
import TouchstoneSignInProtocol

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a request shows beside its body.
@available(macOS 14, iOS 17, *)
enum Credentials: Sendable {
    case none
    /// A password session.
    case bearer(String)
    case accessToken(String, SessionKey, time: Int)
    /// A proof alone.
    case proof(SessionKey, time: Int)
}

@available(macOS 14, iOS 17, *)
extension HTTPTransport {
    /// Sends JSON and reads JSON.
    func call<Answer: Decodable>(
        _ path: String, _ body: some Encodable & Sendable, _ credentials: Credentials = .none,
        returning: Answer.Type = Answer.self
    ) async throws(SignInError) -> Answer {
        try Self.decoded(try await send("POST", path, try Self.encoded(body), credentials))
    }

    /// Sends JSON; the answer is empty.
    func tell(
        _ path: String, _ body: some Encodable & Sendable, _ credentials: Credentials = .none
    ) async throws(SignInError) {
        _ = try await send("POST", path, try Self.encoded(body), credentials)
    }

    func get<Answer: Decodable>(
        _ path: String, _ credentials: Credentials, returning: Answer.Type = Answer.self
    ) async throws(SignInError) -> Answer {
        try Self.decoded(try await send("GET", path, nil, credentials))
    }

    func send(
        _ method: String, _ path: String, _ body: Data?, _ credentials: Credentials
    ) async throws(SignInError) -> Data {
        var request = URLRequest(url: url(path))
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        do {
            try credentials.apply(to: &request)
        } catch {
            throw SignInError(caught: error)
        }
        let answer = try await send(request)
        guard (200...299).contains(answer.status) else { throw Self.failure(answer) }
        return answer.body
    }

    static func encoded(_ body: some Encodable) throws(SignInError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(body)
        } catch {
            throw .configuration("the request cannot be written as JSON")
        }
    }

    private static func decoded<Answer: Decodable>(_ body: Data) throws(SignInError) -> Answer {
        do {
            return try JSONDecoder().decode(Answer.self, from: body)
        } catch {
            throw .badAnswer("its JSON does not have the expected fields")
        }
    }

    private static func failure(_ answer: Answer) -> SignInError {
        switch answer.status {
        case 401: .refused(clockDifference: nil)
        case 404: .notFound
        case 409: .conflict
        case 429: .tooManyRequests(retryAfter: answer.retryAfter)
        case 503: .unavailable
        case 300...399: .badAnswer("it answers with a redirect, which is not followed")
        default: .badAnswer("it answers \(answer.status)")
        }
    }
}

@available(macOS 14, iOS 17, *)
extension Credentials {
    func apply(to request: inout URLRequest) throws {
        guard let url = request.url else { return }
        let method = request.httpMethod ?? "GET"
        switch self {
        case .none: break
        case .bearer(let token): request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        case .accessToken(let token, let key, let time):
            request.setValue("DPoP \(token)", forHTTPHeaderField: "Authorization")
            request.setValue(
                try key.proof(method: method, url: url, accessToken: token, time: time), forHTTPHeaderField: "DPoP")
        case .proof(let key, let time):
            request.setValue(
                try key.proof(method: method, url: url, accessToken: nil, time: time), forHTTPHeaderField: "DPoP")
        }
    }
}
