internal import Foundation
import TouchstoneSystem
internal import TouchstoneTransport

/// Work that waits for the device, or for the owner, and so gets a thread of its own.
enum OwnThread {
    /// Begins the work and returns at once.
    ///
    /// - Parameters:
    ///   - endpoint: The device that calls in `body` mean.
    ///   - body: The work.
    static func run(on endpoint: any VarlinkEndpoint, _ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { DeviceEndpoint.$scoped.withValue(endpoint, operation: body) }
    }

    /// Begins the work and returns at once.
    ///
    /// - Parameters:
    ///   - endpoint: The device that calls in `body` and in `completion` mean.
    ///   - body: The work.
    ///   - completion: Gets the result, on the thread of the work.
    static func run<Result>(
        on endpoint: any VarlinkEndpoint, _ body: @escaping @Sendable () throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        run(on: endpoint) { completion(.init(catching: body)) }
    }

    /// Does the work and waits for it without holding a thread.
    ///
    /// - Throws: What `body` throws.
    static func run<Result: Sendable>(
        on endpoint: any VarlinkEndpoint, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            run(on: endpoint, body) { continuation.resume(with: $0) }
        }
    }
}

extension Result {
    /// The success, for a completion that takes it beside the error.
    var value: Success? { try? get() }

    /// The error, for a completion that takes it beside the success.
    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
