import Logging
import Synchronization

@testable import TouchstoneSignInServer

/// What a server wrote into its log.
final class RecordedLog: Sendable {
    private let lines = Mutex<[(text: String, metadata: Logger.Metadata)]>([])

    /// The reason of the last refusal.
    var reason: Reason? {
        lines.withLock { lines in
            lines.last { $0.metadata["reason"] != nil }.flatMap { Reason(rawValue: "\($0.metadata["reason"]!)") }
        }
    }

    /// Everything, for a search.
    var text: String { lines.withLock { $0.map { "\($0.text) \($0.metadata)" }.joined(separator: "\n") } }

    var handler: any LogHandler { Handler(log: self) }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
            log.lines.withLock { $0.append(("\(event.message)", all)) }
        }
    }
}
