import Foundation

/// One parser of bytes that come from elsewhere, and what has to hold of it.
struct FuzzTarget: Sendable {
    let name: String
    /// Longest input; a longer one finds nothing that a shorter one does not.
    var maximumBytes = 4096
    /// Reads the bytes, and ends the process where something does not hold.
    let run: @Sendable (Data) -> Void
    /// What the kept corpus was begun with: well-formed, and made by our own writers where there are any.
    let seeds: @Sendable () throws -> [Data]
}

/// Says that a parser did what it must not; libFuzzer keeps the input.
func broken(_ what: String) -> Never {
    FileHandle.standardError.write(Data("== BROKEN: \(what)\n".utf8))
    abort()
}

func hold(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { broken(what()) }
}

/// The places in our sources where a parser has accepted something, once they are asked for.
// Unsafe: parsers run on the main thread alone.
nonisolated(unsafe) var accepted: Set<String>?

/// The value, or nil if the parser refused with one of these errors: another one is a find.
///
/// A place where nothing is ever accepted tests nothing: the seeds have to reach each (`script/fuzz --check`).
func unlessRefused<Value>(
    _ errors: [any Error.Type], file: String = #fileID, line: Int = #line, _ body: () throws -> Value
) -> Value? {
    do {
        let value = try body()
        if accepted != nil { accepted?.insert("\(file):\(line)") }
        return value
    } catch {
        hold(errors.contains { $0 == type(of: error) }, "refused with \(type(of: error)): \(error)")
        return nil
    }
}

extension Data {
    /// The first byte, which says what is done, and the rest.
    var choice: (UInt8, Data) { (first ?? 0, Data(dropFirst())) }

    /// Two parts: the length of the first stands before it, in four bytes, little-endian; it is no longer than what is there.
    var halves: (Data, Data) {
        let length = prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        let rest = dropFirst(4)
        return (Data(rest.prefix(length)), Data(rest.dropFirst(length)))
    }

    static func halves(_ first: Data, _ second: Data) -> Data {
        Data((0..<4).map { UInt8(truncatingIfNeeded: first.count >> (8 * $0)) }) + first + second
    }
}
