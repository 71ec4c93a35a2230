import Foundation
import FoundationNetworking

/// Sends requests to one server and takes the answers: no redirects, no cookies, no cache, and nothing too long.
final class ObjectRequests: Sendable {
    struct Answer: Sendable {
        var status: Int
        var body: Data
        var etag: String?
        /// The server's clock.
        var date: Date?
    }

    /// Without a byte for so many seconds a request is given up.
    private static let silenceTimeout: TimeInterval = 20
    /// And after so many in any case: eight of the largest records come at once, over a slow line.
    private static let requestTimeout: TimeInterval = 240

    private let exchanges = Exchanges()
    private let session: URLSession

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.silenceTimeout
        configuration.timeoutIntervalForResource = Self.requestTimeout
        configuration.httpShouldSetCookies = false
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCredentialStorage = nil
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// - Throws: `unavailable` if there was no answer, `damaged` if it is too long.
    func send(_ request: URLRequest, longest: Int) async throws(StoreError) -> Answer {
        let task = session.dataTask(with: request)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchanges.begin(task, longest, continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }
}

/// The requests that are under way.
///
/// Unchecked: the lock guards the only thing that changes.
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Continuation = CheckedContinuation<Result<ObjectRequests.Answer, StoreError>, Never>

    private struct Exchange {
        var continuation: Continuation
        var longest: Int
        var body = Data()
        var isTooLong = false
    }

    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]

    func begin(_ task: URLSessionTask, _ longest: Int, _ continuation: Continuation) {
        lock.withLock { exchanges[task.taskIdentifier] = Exchange(continuation: continuation, longest: longest) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // It would carry what is signed to wherever an answer says.
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = lock.withLock {
            guard var exchange = exchanges.removeValue(forKey: dataTask.taskIdentifier) else { return false }
            exchange.isTooLong = exchange.body.count + data.count > exchange.longest
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
    ) -> Result<ObjectRequests.Answer, StoreError> {
        if exchange.isTooLong { return .failure(.damaged("the object store's answer is longer than it may be")) }
        if let error { return .failure(.unavailable("the object store: \(Self.text(error as NSError))")) }
        guard let response = task.response as? HTTPURLResponse else {
            return .failure(.unavailable("the object store's answer is not HTTP"))
        }
        return .success(
            .init(
                status: response.statusCode, body: exchange.body, etag: response.value(forHTTPHeaderField: "ETag"),
                date: response.value(forHTTPHeaderField: "Date").flatMap(Self.date)))
    }

    /// `Fri, 24 May 2013 00:00:00 GMT`.
    private static func date(_ text: String) -> Date? {
        let parts = text.split(whereSeparator: { " :,".contains($0) })
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let numbers = [parts[3], parts[1], parts[4], parts[5], parts[6]].compactMap { Int($0) }
        guard numbers.count == 5 else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar.date(
            from: DateComponents(
                year: numbers[0], month: month + 1, day: numbers[1], hour: numbers[2], minute: numbers[3],
                second: numbers[4]))
    }

    /// What is known about a failure, in words that are no request's.
    private static func text(_ error: NSError) -> String {
        switch error.domain == NSURLErrorDomain ? error.code : 0 {
        case NSURLErrorTimedOut: "it did not answer in time"
        case NSURLErrorCannotFindHost, NSURLErrorDNSLookupFailed: "its name is not known"
        case NSURLErrorCannotConnectToHost: "nothing listens there"
        case NSURLErrorNetworkConnectionLost: "the connection broke"
        // On Linux a certificate that was not accepted is one of these: libcurl says so in words.
        default: "the connection failed: \(error.localizedDescription.prefix(200))"
        }
    }
}
