import Foundation
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignIn

/// What comes back from a server that is not ours.
@Suite(.timeLimit(.minutes(20))) struct HTTPTransportTests {
    private func failure(_ answer: Data?) async throws -> SignInError? {
        let server = try OddServer { _ in answer }
        // It listens for as long as it is kept.
        defer { withExtendedLifetime(server) {} }
        return await failure(server.url)
    }

    private func failure(_ url: URL) async -> SignInError? {
        do throws(SignInError) {
            _ = try await HTTPTransport(try ServerAddress(url)).call(
                "/v1/challenges", Body.KeyID(keyID: ""), returning: Body.KeyID.self)
            return nil
        } catch {
            return error
        }
    }

    @Test func anAnswerIsRead() async throws {
        let server = try OddServer { _ in OddServer.answer("200 OK", #"{"keyID":"k"}"#) }
        let transport = HTTPTransport(try ServerAddress(server.url))
        let answer = try await transport.call("/v1/x", Body.KeyID(keyID: "a"), returning: Body.KeyID.self)
        #expect(answer.keyID == "k")
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("POST /v1/x HTTP/1.1\r\n"))
        #expect(request.hasSuffix(#"{"keyID":"a"}"#))
        #expect(!request.contains("Cookie"))
    }

    @Test(
        "a redirect is not followed: nothing signed, and no password, goes where an answer says",
        arguments: [
            "301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect",
        ])
    func redirects(status: String) async throws {
        let elsewhere = try OddServer { _ in OddServer.answer("200 OK", #"{"keyID":"k"}"#) }
        let answer = OddServer.answer(status, "", "Location: \(elsewhere.url.absoluteString)/v1/challenges\r\n")
        guard case .badAnswer? = try await failure(answer) else {
            Issue.record("it was followed")
            return
        }
        #expect(elsewhere.requests.isEmpty)
    }

    @Test("statuses are told apart, and a refusal gives no reason (NP-42)")
    func statuses() async throws {
        let table: [(String, String, SignInError)] = [
            ("401 Unauthorized", "", .refused(clockDifference: nil)), ("404 Not Found", "", .notFound),
            ("409 Conflict", "", .conflict),
            ("429 Too Many Requests", "Retry-After: 17\r\n", .tooManyRequests(retryAfter: 17)),
            ("429 Too Many Requests", "Retry-After: soon\r\n", .tooManyRequests(retryAfter: nil)),
            ("503 Service Unavailable", "", .unavailable),
        ]
        for (status, headers, expected) in table {
            #expect(try await failure(OddServer.answer(status, #"{"error":"x"}"#, headers)) == expected)
        }
    }

    @Test(
        "a malformed answer is reported as malformed",
        arguments: [
            OddServer.answer("200 OK", "<html>"), OddServer.answer("200 OK", ""),
            OddServer.answer("200 OK", #"{"keyID":1}"#),
            OddServer.answer("500 Internal Server Error", "secret-in-a-stack-trace"),
            OddServer.answer("200 OK", String(repeating: " ", count: HTTPTransport.maximumAnswerLength + 1)),
        ])
    func badAnswers(answer: Data) async throws {
        guard case .badAnswer(let text)? = try await failure(answer) else {
            Issue.record("it was taken")
            return
        }
        #expect(!text.contains("secret"))
    }

    @Test("an answer as long as it may be is read")
    func longAnswer() async throws {
        let json = #"{"keyID":"k"}"#
        let padding = String(repeating: " ", count: HTTPTransport.maximumAnswerLength - json.utf8.count)
        #expect(try await failure(OddServer.answer("200 OK", json + padding)) == nil)
    }

    @Test("a connection that breaks, and a port where nobody listens, are no server")
    func unreachable() async throws {
        let broken = Data("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".utf8)
        for answer in [broken, Data()] {
            guard case .unreachable? = try await failure(answer) else {
                Issue.record("there was an answer")
                return
            }
        }
        let url: URL
        do { url = try OddServer { _ in nil }.url }
        #expect(await failure(url) == .unreachable("nothing listens there"))
    }

    @Test("a server that says nothing is given up when the caller is cancelled")
    func silence() async throws {
        let server = try OddServer { _ in nil }
        let call = Task { await failure(server.url) }
        // Ends with the time limit.
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        call.cancel()
        #expect(await call.value == .cancelled)
    }

    @Test("a caller that is cancelled before, while or after its request begins does not wait for ever")
    func cancelledAtOnce() async throws {
        let server = try OddServer { _ in nil }
        for _ in 0..<200 {
            let call = Task { await failure(server.url) }
            call.cancel()
            #expect(await call.value == .cancelled)
        }
    }
}
