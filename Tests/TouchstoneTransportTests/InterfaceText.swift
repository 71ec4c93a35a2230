/// A `.varlink` file, read.
struct InterfaceText {
    var name = ""
    var methods: [String: (parameters: Shape, reply: Shape)] = [:]
    var errors: [String: Shape] = [:]

    struct SyntaxError: Error, CustomStringConvertible { var description: String }

    init(_ text: String) throws {
        var reader = Reader(text)
        try reader.expect("interface")
        name = try reader.word()
        var raw = Reader.Members()
        while !reader.isAtEnd { try reader.member(&raw) }
        let types = raw.types
        methods = try raw.methods.mapValues { (try $0.0.resolved(types), try $0.1.resolved(types)) }
        errors = try raw.errors.mapValues { try $0.resolved(types) }
        for (name, type) in types {
            _ = try RawShape.named(name).resolved([name: type].merging(types) { one, _ in one })
        }
    }

    indirect enum RawShape {
        case primitive(Shape)
        case named(String)
        case optional(RawShape), array(RawShape), map(RawShape)
        case enumeration([String])
        case structure([String: RawShape])

        func resolved(_ types: [String: RawShape], depth: Int = 0) throws -> Shape {
            guard depth < 32 else { throw SyntaxError(description: "a type contains itself") }
            switch self {
            case .primitive(let shape): return shape
            case .named(let name):
                guard let type = types[name] else { throw SyntaxError(description: "no type \(name)") }
                return try type.resolved(types, depth: depth + 1)
            case .optional(let shape): return .optional(try shape.resolved(types, depth: depth + 1))
            case .array(let shape): return .array(try shape.resolved(types, depth: depth + 1))
            case .map(let shape): return .map(try shape.resolved(types, depth: depth + 1))
            case .enumeration(let words): return .enumeration(words.sorted())
            case .structure(let fields):
                return .structure(try fields.mapValues { try $0.resolved(types, depth: depth + 1) })
            }
        }
    }

    private struct Reader {
        struct Members {
            var types: [String: RawShape] = [:]
            var methods: [String: (RawShape, RawShape)] = [:]
            var errors: [String: RawShape] = [:]
        }

        private var tokens: ArraySlice<String>

        init(_ text: String) {
            var tokens: [String] = []
            for line in text.split(separator: "\n") {
                var word = ""
                for character in line.prefix(while: { $0 != "#" }) + " " {
                    if character.isLetter || character.isNumber || "._->".contains(character) {
                        word.append(character)
                        continue
                    }
                    if !word.isEmpty { tokens.append(word) }
                    word = ""
                    if !character.isWhitespace { tokens.append(String(character)) }
                }
            }
            self.tokens = tokens[...]
        }

        var isAtEnd: Bool { tokens.isEmpty }

        mutating func word() throws -> String {
            guard let word = tokens.popFirst() else { throw SyntaxError(description: "the file ends too early") }
            return word
        }

        mutating func expect(_ token: String) throws {
            let found = try word()
            guard found == token else { throw SyntaxError(description: "\(found) where \(token) should be") }
        }

        mutating func member(_ members: inout Members) throws {
            let kind = try word()
            let name = try word()
            let isNew =
                switch kind {
                case "type": members.types.updateValue(try body(), forKey: name) == nil
                case "error": members.errors.updateValue(try body(), forKey: name) == nil
                case "method": try method(name, &members)
                default: throw SyntaxError(description: "\(kind) \(name)")
                }
            guard isNew else { throw SyntaxError(description: "\(kind) \(name) is there twice") }
        }

        private mutating func method(_ name: String, _ members: inout Members) throws -> Bool {
            let parameters = try body()
            try expect("->")
            return members.methods.updateValue((parameters, try body()), forKey: name) == nil
        }

        /// `(name: type, …)` or `(word, …)`.
        private mutating func body() throws -> RawShape {
            try expect("(")
            var fields: [String: RawShape] = [:]
            var words: [String] = []
            if tokens.first == ")" {
                tokens.removeFirst()
                return .structure([:])
            }
            while true {
                let name = try word()
                if tokens.first == ":" {
                    tokens.removeFirst()
                    guard fields.updateValue(try type(), forKey: name) == nil else {
                        throw SyntaxError(description: "\(name) is there twice")
                    }
                } else {
                    words.append(name)
                }
                let separator = try word()
                if separator == ")" { break }
                guard separator == "," else { throw SyntaxError(description: "\(separator) after \(name)") }
            }
            guard fields.isEmpty || words.isEmpty else { throw SyntaxError(description: "half a structure") }
            return fields.isEmpty ? .enumeration(words) : .structure(fields)
        }

        private mutating func type() throws -> RawShape {
            switch tokens.first {
            case "?":
                tokens.removeFirst()
                return .optional(try type())
            case "[":
                tokens.removeFirst()
                if tokens.first == "string" {
                    tokens.removeFirst()
                    try expect("]")
                    return .map(try type())
                }
                try expect("]")
                return .array(try type())
            case "(": return try body()
            default:
                let name = try word()
                let primitives: [String: Shape] = [
                    "bool": .bool, "int": .int, "float": .float, "string": .string, "object": .object,
                ]
                return primitives[name].map(RawShape.primitive) ?? .named(name)
            }
        }
    }
}
