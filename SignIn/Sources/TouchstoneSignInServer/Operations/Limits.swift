import Crypto
import Foundation

/// A use of something that is limited, and why a request is refused that is one too many.
struct LimitedUse: Sendable {
    var use: StoredUse
    var reason: Reason

    /// `kind`, `subject`: What is counted, as the bucket's hash has them.
    init(_ limit: RateLimits.Limit, _ kind: String, _ subject: Data, _ reason: Reason) {
        let bucket = Data(SHA256.hash(data: Data("\(kind)\u{0}".utf8) + subject))
        use = StoredUse(bucket: bucket, window: limit.window, most: limit.count)
        self.reason = reason
    }

    func failure(at now: Date) -> Failure {
        let rest = use.window - now.timeIntervalSince1970.truncatingRemainder(dividingBy: use.window)
        return Failure(answer: .tooManyRequests, reason: reason, retryAfter: max(1, Int(rest.rounded(.up))))
    }
}

extension SignInServer {
    /// Counts them one after the other.
    ///
    /// - Throws: `tooManyRequests` at the first that is more than its limit allows.
    func limit(_ uses: [LimitedUse]) async throws {
        let now = configuration.now
        for limited in uses {
            let use = limited.use
            let count = try await store.count(bucket: use.bucket, window: use.window, at: now)
            guard count <= use.most else { throw limited.failure(at: now) }
        }
    }

    func limit(_ limit: RateLimits.Limit, _ kind: String, _ subject: Data, _ reason: Reason) async throws {
        try await self.limit([LimitedUse(limit, kind, subject, reason)])
    }

    /// For one subject from the call's address, and ``RateLimits/everywhere`` times as often from all of them.
    ///
    /// `subject`: nil if the store adds it, who knows an account.
    func uses(
        _ limit: RateLimits.Limit, _ kind: String, _ subject: Data?, _ reason: Reason, from call: Call
    ) -> [LimitedUse] {
        // A hash has a fixed length, so a subject and an address cannot run together.
        let here = (subject.map { Data(SHA256.hash(data: $0)) } ?? Data()) + Data(call.address.utf8)
        let (most, isMore) = limit.count.multipliedReportingOverflow(by: configuration.limits.everywhere)
        return [
            LimitedUse(limit, "\(kind) at an address", here, reason),
            LimitedUse(.init(isMore ? .max : most, per: limit.window), kind, subject ?? Data(), reason),
        ]
    }

    func addressUse(_ call: Call) -> LimitedUse {
        LimitedUse(configuration.limits.address, "address", Data(call.address.utf8), .limitAddress)
    }

    /// What `read` makes of a request.
    ///
    /// If it refuses, the uses are counted first, as they are of a request that is well formed.
    func counting<Value>(_ uses: [LimitedUse], unless read: () throws -> Value) async throws -> Value {
        do {
            return try read()
        } catch {
            try await limit(uses)
            throw error
        }
    }
}
