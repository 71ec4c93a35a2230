import Dispatch

/// Does one after the other what blocks, on a thread that is nobody's executor.
struct BlockingQueue: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) { queue = DispatchQueue(label: label) }

    func run<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(StoreError) in try body() })
            }
        }
        return try result.get()
    }
}
