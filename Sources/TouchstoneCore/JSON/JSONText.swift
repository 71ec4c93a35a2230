package import Foundation

/// One JSON text, read once from end to end, as a flat list of its values.
///
/// Strict: UTF-8 only, no key twice in an object, no lone surrogate, nothing after the value, at most `maximumDepth` levels. Nothing is made
/// of a value before it is asked for.
package final class JSONText {
    /// The text is no JSON, or deeper than is read.
    package struct Malformed: Error {}

    /// Levels of arrays and objects in one another.
    package static let maximumDepth = 512

    enum Kind: UInt8 { case null, `true`, `false`, number, string, escapedString, array, object }

    /// A value; an object's keys are values, too, each before its own.
    struct Node {
        var kind: Kind
        /// The bytes of it; of a string, those between the quotes.
        var start: Int32
        var end: Int32
        /// The first node that is not in it.
        var next: Int32
    }

    private let bytes: [UInt8]
    private let nodes: [Node]
    /// For each object the key that is looked at first: keys are mostly asked for in the order in which they came.
    private var cursors: [Int32]

    /// - Throws: `Malformed`.
    package init(_ text: Data) throws(Malformed) {
        bytes = [UInt8](text)
        // Offsets are kept in 32 bits; messages are far smaller.
        guard bytes.count < Int32.max else { throw Malformed() }
        var scanner = JSONScanner(bytes)
        try scanner.scan()
        nodes = scanner.nodes
        cursors = [Int32](repeating: 0, count: nodes.count)
    }

    subscript(node: Int) -> Node { nodes[node] }

    // MARK: objects

    /// The value of a key of the object `node`.
    func value(_ key: String, in node: Int) -> Int? {
        let (first, end) = (node + 1, Int(nodes[node].next))
        guard first < end else { return nil }
        let start = max(first, Int(cursors[node]))
        var index = start
        repeat {
            let next = Int(nodes[index + 1].next)
            if isText(nodes[index], key) {
                cursors[node] = Int32(truncatingIfNeeded: next < end ? next : first)
                return index + 1
            }
            index = next < end ? next : first
        } while index != start
        return nil
    }

    private func isText(_ node: Node, _ text: String) -> Bool {
        if node.kind == .escapedString { return string(node).utf8.elementsEqual(text.utf8) }
        return Int(node.end - node.start) == text.utf8.count
            && bytes[Int(node.start)..<Int(node.end)].elementsEqual(text.utf8)
    }

    /// The keys of the object `node`, in order.
    func keys(of node: Int) -> [String] {
        var keys: [String] = []
        var index = node + 1
        while index < Int(nodes[node].next) {
            keys.append(string(nodes[index]))
            index = Int(nodes[index + 1].next)
        }
        return keys
    }

    // MARK: values

    /// The text of a string.
    func string(_ node: Node) -> String {
        let text = bytes[Int(node.start)..<Int(node.end)]
        guard node.kind == .escapedString else { return String(decoding: text, as: UTF8.self) }
        return String(decoding: JSONScanner.unescaped(text), as: UTF8.self)
    }

    /// The number, if it is an integer of this type: written as one, or a fraction that is exactly one.
    func integer<T: FixedWidthInteger>(_ node: Node, as type: T.Type) -> T? {
        let digits = bytes[Int(node.start)..<Int(node.end)]
        let isNegative = digits.first == UInt8(ascii: "-")
        var number: T = 0
        for digit in isNegative ? digits.dropFirst() : digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else {
                return whole(node)
            }
            let value = T(truncatingIfNeeded: digit - UInt8(ascii: "0"))
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isStillTooLarge) =
                isNegative ? product.subtractingReportingOverflow(value) : product.addingReportingOverflow(value)
            // An exponent may follow that makes it small again.
            if isTooLarge || isStillTooLarge { return whole(node) }
            number = sum
        }
        return number
    }

    /// The number as a fraction says it, if it is exactly an integer of this type, and so small that it is the only one it can be.
    private func whole<T: FixedWidthInteger>(_ node: Node) -> T? {
        double(node).flatMap { abs($0) < 0x1p53 ? T(exactly: $0) : nil }
    }

    /// The number; nil for one that is too large.
    func double(_ node: Node) -> Double? {
        guard let number = Double(String(decoding: bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)),
            number.isFinite
        else { return nil }
        return number
    }

    /// The bytes that a string stands for in base64, with its padding and without anything else.
    func data(_ node: Node) -> Data? {
        if node.kind == .escapedString { return Base64.decode(Array(string(node).utf8)[...]) }
        return Base64.decode(bytes[Int(node.start)..<Int(node.end)])
    }

    /// The text of one value, as a text of its own.
    func text(of node: Int) -> Data {
        let node = nodes[node]
        let quote = node.kind == .string || node.kind == .escapedString ? 1 : 0
        return Data(bytes[(Int(node.start) - quote)..<(Int(node.end) + quote)])
    }
}

/// Reads one JSON text into nodes.
private struct JSONScanner {
    typealias Node = JSONText.Node
    typealias Malformed = JSONText.Malformed

    private let bytes: [UInt8]
    private(set) var nodes: [Node] = []
    private var index = 0
    /// The arrays and objects that are not yet closed.
    private var open: [Int] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        nodes.reserveCapacity(min(64, bytes.count / 4 + 1))
    }

    mutating func scan() throws(Malformed) {
        repeat { try scanValue() } while try scanAfterValue()
        guard index == bytes.count else { throw Malformed() }
    }

    // MARK: structure

    /// A whole value, or the opening of one that holds others and its first key.
    private mutating func scanValue() throws(Malformed) {
        skipSpace()
        switch byte {
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "{"):
            try begin(.object)
            skipSpace()
            if byte == UInt8(ascii: "}") { return try end() }
            try scanKey()
            try scanValue()
        case UInt8(ascii: "["):
            try begin(.array)
            skipSpace()
            if byte == UInt8(ascii: "]") { return try end() }
            try scanValue()
        case UInt8(ascii: "t"): try scanWord("true", .true)
        case UInt8(ascii: "f"): try scanWord("false", .false)
        case UInt8(ascii: "n"): try scanWord("null", .null)
        default: try scanNumber()
        }
    }

    /// What follows a value.
    ///
    /// - Returns: Whether another value does.
    private mutating func scanAfterValue() throws(Malformed) -> Bool {
        skipSpace()
        while let container = open.last {
            let isObject = nodes[container].kind == .object
            switch byte {
            case UInt8(ascii: ","):
                index += 1
                if isObject {
                    skipSpace()
                    try scanKey()
                }
                return true
            case UInt8(ascii: "}") where isObject, UInt8(ascii: "]") where !isObject: try end()
            default: throw Malformed()
            }
            skipSpace()
        }
        return false
    }

    private mutating func begin(_ kind: JSONText.Kind) throws(Malformed) {
        guard open.count < JSONText.maximumDepth else { throw Malformed() }
        open.append(nodes.count)
        append(kind, start: index, end: index)
        index += 1
    }

    private mutating func end() throws(Malformed) {
        guard let container = open.popLast() else { throw Malformed() }
        index += 1
        nodes[container].end = Int32(index)
        nodes[container].next = Int32(nodes.count)
        if nodes[container].kind == .object { try checkKeys(of: container) }
    }

    private mutating func scanKey() throws(Malformed) {
        guard byte == UInt8(ascii: "\"") else { throw Malformed() }
        try scanString()
        skipSpace()
        guard byte == UInt8(ascii: ":") else { throw Malformed() }
        index += 1
    }

    private mutating func append(_ kind: JSONText.Kind, start: Int, end: Int) {
        nodes.append(
            Node(kind: kind, start: Int32(start), end: Int32(end), next: Int32(nodes.count + 1)))
    }

    /// A key that is there twice means one thing to us and another to the next reader.
    private func checkKeys(of object: Int) throws(Malformed) {
        let end = Int(nodes[object].next)
        var keys = 0
        var hasEscapes = false
        var index = object + 1
        while index < end {
            keys += 1
            if nodes[index].kind == .escapedString { hasEscapes = true }
            index = Int(nodes[index + 1].next)
        }
        if keys < 2 { return }
        if keys <= 16, !hasEscapes {
            var index = object + 1
            while index < end {
                let next = Int(nodes[index + 1].next)
                var other = next
                while other < end {
                    if isSame(nodes[index], nodes[other]) { throw Malformed() }
                    other = Int(nodes[other + 1].next)
                }
                index = next
            }
            return
        }
        var seen: Set<[UInt8]> = []
        index = object + 1
        while index < end {
            let text = bytes[Int(nodes[index].start)..<Int(nodes[index].end)]
            let key = nodes[index].kind == .escapedString ? Self.unescaped(text) : Array(text)
            guard seen.insert(key).inserted else { throw Malformed() }
            index = Int(nodes[index + 1].next)
        }
    }

    private func isSame(_ one: Node, _ other: Node) -> Bool {
        guard one.end - one.start == other.end - other.start else { return false }
        for offset in 0..<Int(one.end - one.start)
        where bytes[Int(one.start) + offset] != bytes[Int(other.start) + offset] {
            return false
        }
        return true
    }

    // MARK: bytes

    /// The byte at hand; 0, which is nowhere in JSON, at the end.
    private var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    private mutating func skipSpace() {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    private mutating func scanWord(_ word: StaticString, _ kind: JSONText.Kind) throws(Malformed) {
        let start = index
        index += word.utf8CodeUnitCount
        guard index <= bytes.count, bytes[start..<index].elementsEqual(word.description.utf8) else { throw Malformed() }
        append(kind, start: start, end: index)
    }

    private mutating func scanNumber() throws(Malformed) {
        let start = index
        if byte == UInt8(ascii: "-") { index += 1 }
        if byte == UInt8(ascii: "0") { index += 1 } else { try scanDigits() }
        if byte == UInt8(ascii: ".") {
            index += 1
            try scanDigits()
        }
        if byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { index += 1 }
            try scanDigits()
        }
        append(.number, start: start, end: index)
    }

    private mutating func scanDigits() throws(Malformed) {
        let start = index
        while byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
        guard index > start else { throw Malformed() }
    }

    private mutating func scanString() throws(Malformed) {
        index += 1
        let start = index
        skipPlainText()
        var kind = JSONText.Kind.string
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                append(kind, start: start, end: index)
                index += 1
                return
            case UInt8(ascii: "\\"):
                kind = .escapedString
                try scanEscape()
            case ..<0x20: throw Malformed()
            case ..<0x80: index += 1
            default: try scanCharacter()
            }
        }
        throw Malformed()
    }

    /// Eight bytes at a time, for as long as all of them are ASCII that stands for itself.
    private mutating func skipPlainText() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits = ones << 7
        let (quotes, backslashes) = (ones * 0x22, ones * 0x5C)
        index = unsafe bytes.withUnsafeBytes { bytes in
            var index = index
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                // Each has the high bit of a byte that is below the space, a quote, or a backslash.
                let control = (word &- ones * 0x20) & ~word
                let quote = ((word ^ quotes) &- ones) & ~(word ^ quotes)
                let backslash = ((word ^ backslashes) &- ones) & ~(word ^ backslashes)
                guard (word | control | quote | backslash) & highBits == 0 else { break }
                index += 8
            }
            return index
        }
    }

    /// One character of more than one byte: the shortest form only, and no surrogate (RFC 3629).
    private mutating func scanCharacter() throws(Malformed) {
        let first = bytes[index]
        let second = index + 1 < bytes.count ? bytes[index + 1] : 0
        let isValid =
            switch first {
            case 0xC2...0xDF, 0xE1...0xEC, 0xEE...0xEF, 0xF1...0xF3: 0x80...0xBF ~= second
            case 0xE0: 0xA0...0xBF ~= second
            case 0xED: 0x80...0x9F ~= second
            case 0xF0: 0x90...0xBF ~= second
            case 0xF4: 0x80...0x8F ~= second
            default: false
            }
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        guard isValid, index + length <= bytes.count else { throw Malformed() }
        for offset in 2..<max(2, length) where !(0x80...0xBF ~= bytes[index + offset]) { throw Malformed() }
        index += length
    }

    private mutating func scanEscape() throws(Malformed) {
        index += 1
        let letter = byte
        index += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"): break
        default: throw Malformed()
        }
        switch try scanCodeUnit() {
        case 0xD800...0xDBFF:
            guard byte == UInt8(ascii: "\\") else { throw Malformed() }
            index += 1
            guard byte == UInt8(ascii: "u") else { throw Malformed() }
            index += 1
            guard case 0xDC00...0xDFFF = try scanCodeUnit() else { throw Malformed() }
        case 0xDC00...0xDFFF: throw Malformed()
        default: return
        }
    }

    private mutating func scanCodeUnit() throws(Malformed) -> UInt16 {
        guard let unit = Self.codeUnit(bytes[min(index, bytes.count)...].prefix(4)) else { throw Malformed() }
        index += 4
        return unit
    }

    /// Four hexadecimal digits.
    private static func codeUnit(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard digits.count == 4 else { return nil }
        return digits.reduce(UInt16?(0)) { unit, digit in
            let value: UInt8? =
                switch digit {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
                case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
                default: nil
                }
            guard let unit, let value else { return nil }
            return unit << 4 | UInt16(value)
        }
    }

    /// The UTF-8 that the inside of a string stands for, which was scanned before.
    static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text
        func unit() -> UInt32 {
            defer { rest = rest.dropFirst(4) }
            return UInt32(codeUnit(rest.prefix(4)) ?? 0xFFFD)
        }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                result.append(byte)
                continue
            }
            switch letter {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                var code = unit()
                if 0xD800...0xDBFF ~= code {
                    rest = rest.dropFirst(2)
                    code = 0x10000 + (code - 0xD800) << 10 + (unit() &- 0xDC00) & 0x3FF
                }
                result.append(contentsOf: String(Character(Unicode.Scalar(code) ?? "\u{FFFD}")).utf8)
            default: result.append(letter)
            }
        }
        return result
    }
}
