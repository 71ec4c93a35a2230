import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends one request to one server and takes one answer: no redirects, no cookies, no cache, nothing twice.
@available(macOS 14, iOS 17, *)
final class HTTPTransport: Sendable {
    struct Answer: Sendable {
        var status: Int
        var body: Data
        /// Seconds.
        var retryAfter: Int?
    }

    /// Longest body of an answer that is read, in bytes.
    static let maximumAnswerLength = 64 * 1024
    /// Without a byte for so long a request is given up.
    static let silenceTimeout: TimeInterval = 15
    /// And after so long in any case.
    static let requestTimeout: TimeInterval = 30

    private let server: ServerAddress
    private let exchanges = Exchanges()
    private let session: URLSession

    init(_ server: ServerAddress) {
        self.server = server
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.silenceTimeout
        configuration.timeoutIntervalForResource = Self.requestTimeout
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// The address of a path, which begins with a slash.
    func url(_ path: String) -> URL { server.url.appending(path: path) }

    /// - Throws: `.unreachable`, `.cancelled`, `.badAnswer` for one that is too long.
    func send(_ request: URLRequest) async throws(SignInError) -> Answer {
        let task = session.dataTask(with: request)
        let result: Result<Answer, SignInError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if exchanges.begin(task, continuation) { task.resume() }
            }
        } onCancel: {
            exchanges.cancel(task)
        }
        exchanges.forget(task)
        return try result.get()
    }
}

/// The requests that are under way.
///
/// Unchecked: the lock guards the only thing that changes.
@available(macOS 14, iOS 17, *)
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPTransport.Answer, SignInError>, Never>

    private struct Exchange {
        var continuation: Continuation
        var body = Data()
        var isTooLong = false
    }

    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    private var cancelled: Set<Int> = []

    /// - Returns: Whether to send. What was cancelled before it began is over: a session says so only once, maybe too early.
    func begin(_ task: URLSessionTask, _ continuation: Continuation) -> Bool {
        let begins = lock.withLock {
            if cancelled.contains(task.taskIdentifier) { return false }
            exchanges[task.taskIdentifier] = Exchange(continuation: continuation)
            return true
        }
        if !begins { continuation.resume(returning: .failure(.cancelled)) }
        return begins
    }

    /// Ends the caller's wait at once, whatever the session says of it later.
    func cancel(_ task: URLSessionTask) {
        let exchange = lock.withLock {
            cancelled.insert(task.taskIdentifier)
            return exchanges.removeValue(forKey: task.taskIdentifier)
        }
        task.cancel()
        exchange?.continuation.resume(returning: .failure(.cancelled))
    }

    /// Nobody waits for it, and nobody can cancel it any more.
    func forget(_ task: URLSessionTask) {
        _ = lock.withLock { cancelled.remove(task.taskIdentifier) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // A redirect would carry what was signed, or a password, to wherever an answer says.
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = lock.withLock {
            guard var exchange = exchanges[dataTask.taskIdentifier] else { return false }
            exchange.isTooLong = exchange.body.count + data.count > HTTPTransport.maximumAnswerLength
            if !exchange.isTooLong { exchange.body.append(data) }
            exchanges[dataTask.taskIdentifier] = exchange
            return exchange.isTooLong
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = lock.withLock({ exchanges.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.continuation.resume(returning: result(task, exchange, error))
    }

    private func result(
        _ task: URLSessionTask, _ exchange: Exchange, _ error: (any Error)?
    ) -> Result<HTTPTransport.Answer, SignInError> {
        if exchange.isTooLong { return .failure(.badAnswer("its answer is too long")) }
        if let error {
            let error = error as NSError
            if error.domain == NSURLErrorDomain, error.code == NSURLErrorCancelled { return .failure(.cancelled) }
            return .failure(.unreachable(Self.text(error)))
        }
        guard let response = task.response as? HTTPURLResponse else { return .failure(.badAnswer("it is not HTTP")) }
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
        return .success(.init(status: response.statusCode, body: exchange.body, retryAfter: retryAfter))
    }

    /// What is known about a failure, in words that are no request's.
    private static func text(_ error: NSError) -> String {
        switch error.domain == NSURLErrorDomain ? error.code : 0 {
        case NSURLErrorTimedOut: "it did not answer in time"
        case NSURLErrorCannotFindHost, NSURLErrorDNSLookupFailed: "its name is not known"
        case NSURLErrorCannotConnectToHost: "nothing listens there"
        case NSURLErrorNetworkConnectionLost: "the connection broke"
        case NSURLErrorNotConnectedToInternet: "there is no network"
        case NSURLErrorSecureConnectionFailed, NSURLErrorServerCertificateUntrusted,
            NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateHasUnknownRoot,
            NSURLErrorServerCertificateNotYetValid:
            "its certificate was not accepted, or TLS failed"
        default: "the connection failed (\(error.code))"
        }
    }
}
