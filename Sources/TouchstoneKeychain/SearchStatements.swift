import Foundation
import GRDB
import TouchstoneCore

/// What the statement of a search depends on: by what is searched, and nothing of what is searched for.
struct SearchShape: Hashable {
    /// What it reads of each row.
    enum Result { case rows, rowIDs }

    private var itemClass: ItemClass
    private var result: Result
    private var groups: Int
    private var hasIdentifier: Bool
    private var hasAccessibility: Bool
    /// One bit for each of the tags' columns.
    private var columns: UInt64 = 0

    init(_ filter: RowFilter, _ result: Result) {
        itemClass = filter.itemClass
        self.result = result
        groups = filter.accessGroupTags.count
        hasIdentifier = filter.identifier != nil
        hasAccessibility = filter.accessibility != nil
        for column in filter.tags.keys {
            if let place = Self.places[column] { columns |= 1 << UInt64(place) }
        }
    }

    /// Where each column is among the tags' columns.
    private static let places = Dictionary(
        uniqueKeysWithValues: KeychainStore.tagColumns.enumerated().map { ($0.element, $0.offset) })

    private var tags: some Sequence<AttributeKey> {
        KeychainStore.tagColumns.indices.lazy.filter { columns & 1 << UInt64($0) != 0 }
            .map { KeychainStore.tagColumns[$0] }
    }

    var sql: String {
        // The class is said in the text, not as an argument, so that SQLite sees that the partial indexes serve.
        var conditions = ["class = '\(itemClass.rawValue)'"]
        if hasIdentifier { conditions.append("identifier = ?") }
        conditions.append("agrp IN (\(Array(repeating: "?", count: groups).joined(separator: ", ")))")
        if hasAccessibility { conditions.append("pdmn = ?") }
        conditions += tags.map { "\"\($0.rawValue)\" = ?" }
        return """
            SELECT \(result == .rows ? ItemRow.columnsWithSmallSecret : "rowid") FROM item
            WHERE \(conditions.joined(separator: " AND "))
            """
    }

    /// The values of a filter of this shape, in the order of the text.
    func values(_ filter: RowFilter) -> [StoreStatement.Value?] {
        var values: [StoreStatement.Value?] = []
        if let identifier = filter.identifier { values.append(.blob(identifier.bytes)) }
        for tag in filter.accessGroupTags { values.append(.blob(tag)) }
        if let accessibility = filter.accessibility { values.append(.text(accessibility.rawValue)) }
        for column in tags { values.append(.blob(filter.tags[column])) }
        return values
    }
}

/// One connection's prepared statements of searches, those used last.
///
/// An app can ask by any set of attributes, and each set is another statement of some 12 KiB: kept for ever they would fill the memory.
///
/// > Concurrency: Used in the turn of its connection only.
final class SearchStatements {
    static let maximum = 64

    private struct Kept {
        var statement: StoreStatement
        var lastUse: UInt64
    }

    private var byShape: [SearchShape: Kept] = [:]
    private var uses: UInt64 = 0

    func statement(_ shape: SearchShape, in database: Database) throws -> StoreStatement {
        uses += 1
        if let statement = byShape[shape]?.statement {
            byShape[shape]?.lastUse = uses
            return statement
        }
        let statement = try StoreStatement(shape.sql, in: database)
        if byShape.count >= Self.maximum,
            let idle = byShape.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
        {
            byShape[idle] = nil
        }
        byShape[shape] = Kept(statement: statement, lastUse: uses)
        return statement
    }
}
