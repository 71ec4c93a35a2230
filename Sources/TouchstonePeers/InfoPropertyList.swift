import Foundation

/// The strings at the top of a property list in XML, as an app's `Info.plist` is.
///
/// Reads no more than that, in one pass and without recursion: the file is the app's, and touchstoned has to survive it. A list in
/// another format, as in binary, is none.
struct InfoPropertyList {
    private(set) var strings: [String: String] = [:]

    /// nil where it is no property list, or malformed.
    init?(_ bytes: Data) {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var rest = ArraySlice([UInt8](bytes))
        var open: [ArraySlice<UInt8>] = []
        var text: [UInt8] = []
        var key: String?
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            text += rest[..<start]
            rest = rest[start...]
            if let (opening, closing) = Self.skipped.first(where: { rest.starts(with: $0.opening) }) {
                guard let end = rest.dropFirst(opening.count).firstRange(of: closing),
                    // What a document type declares could change what the rest says.
                    !opening.elementsEqual("<!".utf8) || !rest[..<end.lowerBound].contains(UInt8(ascii: "["))
                else { return nil }
                rest = rest[end.upperBound...]
                continue
            }
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            var tag = rest[(start + 1)..<end]
            rest = rest[(end + 1)...]
            let isEnd = tag.first == UInt8(ascii: "/")
            let isEmpty = tag.last == UInt8(ascii: "/")
            if isEnd { tag = tag.dropFirst() }
            let name = tag.prefix { !Self.endsName($0) }
            guard !name.isEmpty, !(isEnd && isEmpty) else { return nil }
            if !isEnd {
                // A text has no elements in it.
                guard open.last.map(Self.isText) != true else { return nil }
                open.append(name)
                text = []
            }
            guard isEnd || isEmpty else { continue }
            guard let element = open.popLast(), element == name else { return nil }
            guard open.count == 2, open[0].elementsEqual("plist".utf8), open[1].elementsEqual("dict".utf8) else {
                continue
            }
            if element.elementsEqual("key".utf8) {
                guard key == nil, let unescaped = Self.unescaped(text) else { return nil }
                key = unescaped
            } else {
                guard let named = key.take(), strings[named] == nil else { return nil }
                guard element.elementsEqual("string".utf8) else { continue }
                guard let value = Self.unescaped(text) else { return nil }
                strings[named] = value
            }
        }
        guard open.isEmpty, key == nil else { return nil }
    }

    /// What is passed over: a comment, the declaration, a document type.
    private static let skipped: [(opening: [UInt8], closing: [UInt8])] = [
        (Array("<!--".utf8), Array("-->".utf8)), (Array("<?".utf8), Array("?>".utf8)),
        (Array("<!".utf8), Array(">".utf8)),
    ]

    private static func isText(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("key".utf8) || name.elementsEqual("string".utf8)
    }

    private static func endsName(_ byte: UInt8) -> Bool { " \t\r\n/".utf8.contains(byte) }

    /// The text with what stands for other characters replaced; nil where that is unknown.
    private static func unescaped(_ text: [UInt8]) -> String? {
        var result: [UInt8] = []
        var rest = ArraySlice(text)
        while let start = rest.firstIndex(of: UInt8(ascii: "&")) {
            guard let end = rest[start...].firstIndex(of: UInt8(ascii: ";")),
                let character = character(String(decoding: rest[(start + 1)..<end], as: UTF8.self))
            else { return nil }
            result += rest[..<start]
            result += String(character).utf8
            rest = rest[(end + 1)...]
        }
        return String(decoding: result + rest, as: UTF8.self)
    }

    private static func character(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "lt": "<"
        case "gt": ">"
        case "amp": "&"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
