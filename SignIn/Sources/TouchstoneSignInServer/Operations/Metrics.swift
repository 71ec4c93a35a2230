import Foundation
import HTTPTypes
import Metrics

/// What is counted, by swift-metrics; to be read at `/metrics`.
final class SignInMetrics: Sendable {
    let registry = MetricsRegistry()

    func answered(_ route: Route, _ status: HTTPResponse.Status, in duration: Duration) {
        let labels = [("route", "\(route.method) \(route.path)")]
        Counter(label: "signin_requests_total", dimensions: labels + [("status", "\(status.code)")], factory: registry)
            .increment()
        Timer(label: "signin_request_seconds", dimensions: labels, factory: registry)
            .recordNanoseconds(duration.nanoseconds)
    }

    func refused(_ reason: Reason) {
        Counter(label: "signin_refusals_total", dimensions: [("reason", reason.rawValue)], factory: registry)
            .increment()
    }

    func stored(_ operation: String, in duration: Duration) {
        Timer(label: "signin_store_seconds", dimensions: [("operation", operation)], factory: registry)
            .recordNanoseconds(duration.nanoseconds)
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
