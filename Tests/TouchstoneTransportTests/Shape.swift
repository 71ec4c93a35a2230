import Foundation

/// What a value looks like on the wire: what an interface file and a Swift type have in common.
indirect enum Shape: Hashable, CustomStringConvertible {
    case bool, int, float, string, object
    case optional(Shape)
    case array(Shape)
    case map(Shape)
    /// By its words, sorted.
    case enumeration([String])
    case structure([String: Shape])

    var description: String {
        switch self {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .object: "object"
        case .optional(let shape): "?\(shape)"
        case .array(let shape): "[]\(shape)"
        case .map(let shape): "[string]\(shape)"
        case .enumeration(let words): "(\(words.joined(separator: ", ")))"
        case .structure(let fields):
            "(\(fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")))"
        }
    }

    /// Where two differ, one line for each place.
    static func differences(_ file: Shape, _ code: Shape, at place: String) -> [String] {
        switch (file, code) {
        case (.structure(let file), .structure(let code)):
            Set(file.keys).union(code.keys).sorted().flatMap { name in
                switch (file[name], code[name]) {
                case (let one?, let other?): differences(one, other, at: "\(place).\(name)")
                case (nil, _): ["\(place).\(name) is in the code only"]
                case (_, nil): ["\(place).\(name) is in the file only"]
                }
            }
        case (.optional(let file), .optional(let code)): differences(file, code, at: place)
        case (.array(let file), .array(let code)): differences(file, code, at: "\(place)[]")
        case (.map(let file), .map(let code)): differences(file, code, at: "\(place)[string]")
        default: file == code ? [] : ["\(place) is \(file) in the file and \(code) in the code"]
        }
    }
}
