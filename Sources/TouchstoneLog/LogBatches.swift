import TouchstoneCore

/// Lines as messages carry them: some at a time, and no more bytes than fit a request however they are escaped.
package struct LogBatches<Lines: Sequence<String>>: Sequence, IteratorProtocol {
    /// Lines that one message carries.
    package static var maximumLines: Int { 1000 }
    /// A line that is longer goes alone.
    package static var maximumBytes: Int { 128 << 10 }

    private var lines: Lines.Iterator
    /// The one that the next batch begins with.
    private var first: String?

    package init(_ lines: Lines) {
        self.lines = lines.makeIterator()
        first = self.lines.next()
    }

    package mutating func next() -> [String]? {
        guard var line = first else { return nil }
        var batch: [String] = []
        var bytes = 0
        while true {
            batch.append(line)
            bytes += line.utf8.count
            first = lines.next()
            guard let following = first, batch.count < Self.maximumLines,
                bytes + following.utf8.count <= Self.maximumBytes
            else { return batch }
            line = following
        }
    }
}
