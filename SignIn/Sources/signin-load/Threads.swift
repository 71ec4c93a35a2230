import Foundation
import Synchronization

/// Runs `body` on so many threads at once, and waits for all.
///
/// - Throws: What the first of them threw that did.
func onThreads<Answer: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Answer) throws -> [Answer] {
    let results = Results<Answer>()
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        let thread = Thread {
            results.add(Result { try body(number) })
            group.leave()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }
    group.wait()
    return try results.all.map { try $0.get() }
}

private final class Results<Answer: Sendable>: Sendable {
    private let list = Mutex<[Result<Answer, any Error>]>([])

    func add(_ result: Result<Answer, any Error>) { list.withLock { $0.append(result) } }

    var all: [Result<Answer, any Error>] { list.withLock { $0 } }
}
