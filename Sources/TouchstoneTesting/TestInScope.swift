import Synchronization
import Testing
import XCTest

/// A place in a test's source.
struct SourcePlace: Sendable {
    let fileID: String
    let filePath: StaticString
    let line: Int
    let column: Int
}

/// The test in which this was made: what is recorded later, on any thread, counts for that test.
///
/// Swift Testing knows a test by task-local values, which the threads of a device do not have. XCTest has one test at a time.
final class TestInScope: Sendable {
    private let held = HeldTask()
    private let test = Test.current

    init() {
        guard test != nil else { return }
        // A task has the task-local values of where it is made. This one begins when there is something to record.
        Task(executorPreference: held) { [held] in held.work.withLock { $0 }.body?() }
    }

    deinit { held.run() }

    /// Fails the test.
    ///
    /// - Parameters:
    ///   - words: What the failure says.
    ///   - place: Where to point at; nil for the test itself.
    ///   - latest: Where to point at when nobody knows where the test is.
    func fail(_ words: String, at place: SourcePlace?, or latest: SourcePlace) {
        let location = place.map(SourceLocation.init) ?? test?.sourceLocation ?? SourceLocation(latest)
        let record: @Sendable () -> Void = { _ = Issue.record(Comment(rawValue: words), sourceLocation: location) }
        if test != nil {
            held.work.withLock { $0.body = record }
            held.run()
        } else {
            // Each does nothing where it does not run; Swift Testing counts it for no test, and fails the run.
            record()
            let place = place ?? latest
            XCTFail(words, file: place.filePath, line: UInt(place.line))
        }
    }
}

extension SourceLocation {
    fileprivate init(_ place: SourcePlace) {
        self.init(fileID: place.fileID, filePath: "\(place.filePath)", line: place.line, column: place.column)
    }
}

/// Keeps a task from beginning until it is told to, and runs it there.
private final class HeldTask: TaskExecutor {
    struct Work {
        var body: (@Sendable () -> Void)?
    }

    let work = Mutex(Work())
    private let job = Mutex<UnownedJob?>(nil)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.job.withLock { $0 = job }
    }

    /// Runs the task, once; one that never ran would never go.
    func run() {
        let job = job.withLock { job in
            defer { job = nil }
            return job
        }
        unsafe job?.runSynchronously(on: asUnownedTaskExecutor())
    }
}
