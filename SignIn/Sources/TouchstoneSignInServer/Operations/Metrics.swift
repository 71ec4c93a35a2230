import HTTPTypes
import Metrics
import Synchronization

/// What is counted, by swift-metrics; to be read at `/metrics`.
final class SignInMetrics: Sendable {
    private enum Key: Hashable {
        case answers(method: String, path: String, status: Int)
        case requests(method: String, path: String)
        case refusals(Reason)
        case calls(String)
    }

    let registry = MetricsRegistry()
    /// By what they count: to make their labels again for each request costs more than to count it.
    private let counters = Mutex<[Key: Counter]>([:])
    private let timers = Mutex<[Key: Timer]>([:])

    func answered(_ route: Route, _ status: HTTPResponse.Status, in duration: Duration) {
        let (method, path) = (route.method.rawValue, route.path)
        counter(.answers(method: method, path: path, status: status.code)) {
            ("signin_requests_total", [("route", route.name), ("status", "\(status.code)")])
        }.increment()
        timer(.requests(method: method, path: path)) { ("signin_request_seconds", [("route", route.name)]) }
            .recordNanoseconds(duration.nanoseconds)
    }

    func refused(_ reason: Reason) {
        counter(.refusals(reason)) { ("signin_refusals_total", [("reason", reason.rawValue)]) }.increment()
    }

    func stored(_ operation: String, in duration: Duration) {
        timer(.calls(operation)) { ("signin_store_seconds", [("operation", operation)]) }
            .recordNanoseconds(duration.nanoseconds)
    }

    private func counter(_ key: Key, _ labels: () -> (String, [(String, String)])) -> Counter {
        counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let (label, dimensions) = labels()
            let counter = Counter(label: label, dimensions: dimensions, factory: registry)
            counters[key] = counter
            return counter
        }
    }

    private func timer(_ key: Key, _ labels: () -> (String, [(String, String)])) -> Timer {
        timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let (label, dimensions) = labels()
            let timer = Timer(label: label, dimensions: dimensions, factory: registry)
            timers[key] = timer
            return timer
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
