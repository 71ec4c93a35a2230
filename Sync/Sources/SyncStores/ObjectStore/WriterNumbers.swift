/// The cursor of an object store: the largest number that was listed of each writer.
package struct WriterNumbers {
    private var numbers: [String: UInt64] = [:]

    /// - Throws: `invalid` for what ``cursor`` does not say.
    package init(_ cursor: StoreCursor) throws(StoreError) {
        guard cursor.text.utf8.count <= StoreLimits.cursor else { throw StoreCursor.foreign() }
        for line in cursor.text.split(separator: "\n", omittingEmptySubsequences: false) where cursor != .start {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, RecordName.isPart(parts[0]), let number = RecordName.number(parts[1]),
                numbers.updateValue(number, forKey: String(parts[0])) == nil, numbers.count <= StoreLimits.writers
            else { throw StoreCursor.foreign() }
        }
    }

    subscript(writer: String) -> UInt64? {
        get { numbers[writer] }
        set { numbers[writer] = newValue }
    }

    /// A line for each writer.
    package var cursor: StoreCursor {
        StoreCursor(
            text: numbers.sorted { $0.key < $1.key }.map { "\($0.key) \(RecordName.digits($0.value))" }.joined(
                separator: "\n"))
    }
}
