import Crypto
import Foundation

extension SignInServer {
    /// - Throws: `tooManyRequests` if this was more than the limit allows.
    func limit(_ limit: RateLimits.Limit, _ kind: String, _ subject: Data, _ reason: Reason) async throws {
        let bucket = Data(SHA256.hash(data: Data("\(kind)\u{0}".utf8) + subject))
        let now = configuration.now
        guard try await store.count(bucket: bucket, window: limit.window, at: now) > limit.count else { return }
        let rest = limit.window - now.timeIntervalSince1970.truncatingRemainder(dividingBy: limit.window)
        throw Failure(answer: .tooManyRequests, reason: reason, retryAfter: max(1, Int(rest.rounded(.up))))
    }

    /// For one subject from the call's address, and ``RateLimits/everywhere`` times as often from all of them.
    func limit(
        _ limit: RateLimits.Limit, _ kind: String, _ subject: Data, _ reason: Reason, from call: Call
    ) async throws {
        // A hash has a fixed length, so a subject and an address cannot run together.
        let here = Data(SHA256.hash(data: subject)) + Data(call.address.utf8)
        try await self.limit(limit, "\(kind) at an address", here, reason)
        let (most, isMore) = limit.count.multipliedReportingOverflow(by: configuration.limits.everywhere)
        try await self.limit(.init(isMore ? .max : most, per: limit.window), kind, subject, reason)
    }

    func limitAddress(_ call: Call) async throws {
        try await limit(configuration.limits.address, "address", Data(call.address.utf8), .limitAddress)
    }
}
