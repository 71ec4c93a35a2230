import CPostgreSQL
import Foundation

/// Values as PostgreSQL's binary format has them, one after the other.
struct PostgreSQLParameters {
    /// OIDs of the types, which never change.
    private static let int8: Oid = 20
    private static let bytea: Oid = 17
    private static let text: Oid = 25
    private static let varchar: Oid = 1043

    private(set) var types: [Oid] = []
    private var lengths: [Int32] = []
    /// Where each begins in `buffer`; nil for NULL.
    private var offsets: [Int?] = []
    private var buffer = Data()

    init(_ values: [SQLValue]) {
        for value in values {
            let start = buffer.count
            switch value {
            case .null: types.append(0)
            case .integer(let integer):
                types.append(Self.int8)
                unsafe withUnsafeBytes(of: integer.bigEndian) { unsafe buffer.append(contentsOf: $0) }
            case .text(let text):
                types.append(Self.text)
                buffer.append(contentsOf: SQLValue.storable(text).utf8)
            case .bytes(let bytes):
                types.append(Self.bytea)
                buffer.append(bytes)
            }
            lengths.append(Int32(buffer.count - start))
            offsets.append(value == .null ? nil : start)
        }
        // An empty value has a place too: no pointer would be NULL.
        buffer.append(0)
    }

    /// By what a statement is known once it is prepared.
    ///
    /// One whose value is NULL is prepared separately, because the server then chooses its type.
    func key(of text: String) -> String {
        types.contains(0) ? text + types.map { $0 == 0 ? "0" : "1" }.joined() : text
    }

    func withPointers<Answer>(
        _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) throws -> Answer
    ) rethrows -> Answer {
        try unsafe buffer.withUnsafeBytes { bytes in
            let start = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
            return try unsafe body(
                offsets.map { unsafe $0.map { unsafe start + $0 } }, lengths, Array(repeating: 1, count: types.count))
        }
    }

    static func rows(of result: OpaquePointer) -> [SQLRow] {
        unsafe (0..<PQntuples(result)).map { row in
            unsafe SQLRow(values: (0..<PQnfields(result)).map { unsafe value(result, row, $0) })
        }
    }

    private static func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> SQLValue {
        guard unsafe PQgetisnull(result, row, column) == 0, let start = unsafe PQgetvalue(result, row, column) else {
            return .null
        }
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        switch unsafe PQftype(result, column) {
        case int8 where bytes.count == 8: return unsafe .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
        case bytea: return unsafe .bytes(Data(bytes))
        case text, varchar: return unsafe .text(String(decoding: bytes, as: UTF8.self))
        // No column of the schema has it; the caller sees that it is not what it asked for.
        default: return .null
        }
    }
}
