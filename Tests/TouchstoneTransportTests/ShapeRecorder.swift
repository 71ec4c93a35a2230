import Foundation

/// Finds out what a type looks like on the wire by having it decode itself from nothing and noting what it asks for.
enum ShapeRecorder {
    struct CannotTell: Error, CustomStringConvertible { var description: String }

    static func shape<T: Decodable>(of type: T.Type) throws -> Shape { try record(type).shape }

    /// The shape, and some value of the type.
    fileprivate static func record<T: Decodable>(_ type: T.Type) throws -> (shape: Shape, value: T) {
        if T.self == Data.self { return (.string, Data() as! T) }
        if let list = type as? any AnyList.Type { return (.array(try list.elementShape()), try list.empty(as: type)) }
        if let map = type as? any AnyMap.Type { return (.map(try map.elementShape()), try map.empty(as: type)) }
        if let enumeration = type as? any RawRepresentable.Type, let cases = try words(of: enumeration) {
            guard let value = cases.value as? T else { throw CannotTell(description: "\(type)") }
            return (cases.shape, value)
        }
        return try recordStructure(type)
    }

    /// Decodes until nothing new is asked for: an optional whose shape is known is absent the next time, so that a type which looks at
    /// one key after the other comes to look at all of them.
    private static func recordStructure<T: Decodable>(_ type: T.Type) throws -> (shape: Shape, value: T) {
        var known = Notes()
        var value: T?
        while true {
            let notes = NoteBook(known)
            let before = known.fields.count
            do {
                let decoded = try T(from: RecordingDecoder(notes: notes))
                if value == nil { value = decoded }
            } catch let error as CannotTell {
                throw error
            } catch {
                // Everything was absent, which this type does not take.
                guard value != nil else { throw CannotTell(description: "\(type): \(error)") }
            }
            known = notes.notes
            if let single = known.single, let value { return (single, value) }
            if known.fields.count == before { break }
        }
        guard let value else { throw CannotTell(description: "\(type)") }
        let fields = known.fields.reduce(into: [String: Shape]()) { fields, field in
            fields[field.key] = known.optionals.contains(field.key) ? .optional(field.value) : field.value
        }
        return (.structure(fields), value)
    }

    private static func words<R: RawRepresentable>(of type: R.Type) throws -> (shape: Shape, value: R)? {
        guard let cases = cases(of: type), let first = cases.first else {
            // A structure around a raw value, which takes any.
            if let text = "" as? R.RawValue, let value = R(rawValue: text) { return (.string, value) }
            if let zero = 0 as? R.RawValue, let value = R(rawValue: zero) { return (.int, value) }
            if let zero = Int32(0) as? R.RawValue, let value = R(rawValue: zero) { return (.int, value) }
            if let zero = UInt64(0) as? R.RawValue, let value = R(rawValue: zero) { return (.int, value) }
            return nil
        }
        if R.RawValue.self == String.self {
            return (.enumeration(cases.compactMap { $0.rawValue as? String }.sorted()), first)
        }
        if first.rawValue is any FixedWidthInteger { return (.int, first) }
        throw CannotTell(description: "\(type)")
    }

    /// Every case of an enumeration without payloads, from the runtime's description of the type; nil for what is not an enumeration.
    static func cases<R>(of type: R.Type) -> [R]? {
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        let enumerationKind = 0x201
        guard metadata.load(as: Int.self) == enumerationKind else { return nil }
        let descriptor = metadata.load(fromByteOffset: 8, as: UnsafeRawPointer.self)
        let count = descriptor.load(fromByteOffset: 24, as: UInt32.self)
        // Of one case there is nothing to tell apart, and no byte for it.
        if MemoryLayout<R>.size == 0, count == 1 { return [unsafeBitCast((), to: R.self)] }
        guard MemoryLayout<R>.size == 1, count <= 256 else { return nil }
        return (0..<count).map { unsafeBitCast(UInt8($0), to: R.self) }
    }
}

private protocol AnyList {
    static func elementShape() throws -> Shape
    static func empty<T>(as type: T.Type) throws -> T
}

extension Array: AnyList where Element: Decodable {
    static func elementShape() throws -> Shape { try ShapeRecorder.shape(of: Element.self) }
    static func empty<T>(as type: T.Type) throws -> T { Self() as! T }
}

private protocol AnyMap {
    static func elementShape() throws -> Shape
    static func empty<T>(as type: T.Type) throws -> T
}

extension Dictionary: AnyMap where Key == String, Value: Decodable {
    static func elementShape() throws -> Shape { try ShapeRecorder.shape(of: Value.self) }
    static func empty<T>(as type: T.Type) throws -> T { Self() as! T }
}

private struct Notes {
    var fields: [String: Shape] = [:]
    var optionals: Set<String> = []
    var single: Shape?
}

private final class NoteBook {
    var notes: Notes
    /// Known before this pass: absent if they may be.
    let known: Set<String>

    init(_ notes: Notes) {
        self.notes = notes
        known = Set(notes.fields.keys)
    }
}

private struct RecordingDecoder: Decoder {
    let notes: NoteBook
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed(notes: notes))
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw ShapeRecorder.CannotTell(description: "a list of its own making")
    }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(notes: notes) }

    struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let notes: NoteBook
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }

        /// `decodeIfPresent` asks this first, and then for the value.
        func decodeNil(forKey key: Key) throws -> Bool {
            notes.notes.optionals.insert(key.stringValue)
            return notes.known.contains(key.stringValue)
        }

        private func note<T>(_ shape: Shape, _ value: T, _ key: Key) -> T {
            notes.notes.fields[key.stringValue] = shape
            return value
        }

        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { note(.bool, false, key) }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { note(.string, "", key) }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double { note(.float, 0, key) }
        func decode(_ type: Float.Type, forKey key: Key) throws -> Float { note(.float, 0, key) }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { note(.int, 0, key) }
        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { note(.int, 0, key) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { note(.int, 0, key) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { note(.int, 0, key) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { note(.int, 0, key) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { note(.int, 0, key) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { note(.int, 0, key) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { note(.int, 0, key) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { note(.int, 0, key) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { note(.int, 0, key) }
        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            let (shape, value) = try ShapeRecorder.record(type)
            return note(shape, value, key)
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            throw ShapeRecorder.CannotTell(description: key.stringValue)
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw ShapeRecorder.CannotTell(description: key.stringValue)
        }
        func superDecoder() throws -> any Decoder { throw ShapeRecorder.CannotTell(description: "super") }
        func superDecoder(forKey key: Key) throws -> any Decoder {
            throw ShapeRecorder.CannotTell(description: key.stringValue)
        }
    }

    struct Single: SingleValueDecodingContainer {
        let notes: NoteBook
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { false }

        private func note<T>(_ shape: Shape, _ value: T) -> T {
            notes.notes.single = shape
            return value
        }

        func decode(_ type: Bool.Type) throws -> Bool { note(.bool, false) }
        func decode(_ type: String.Type) throws -> String { note(.string, "") }
        func decode(_ type: Double.Type) throws -> Double { note(.float, 0) }
        func decode(_ type: Float.Type) throws -> Float { note(.float, 0) }
        func decode(_ type: Int.Type) throws -> Int { note(.int, 0) }
        func decode(_ type: Int8.Type) throws -> Int8 { note(.int, 0) }
        func decode(_ type: Int16.Type) throws -> Int16 { note(.int, 0) }
        func decode(_ type: Int32.Type) throws -> Int32 { note(.int, 0) }
        func decode(_ type: Int64.Type) throws -> Int64 { note(.int, 0) }
        func decode(_ type: UInt.Type) throws -> UInt { note(.int, 0) }
        func decode(_ type: UInt8.Type) throws -> UInt8 { note(.int, 0) }
        func decode(_ type: UInt16.Type) throws -> UInt16 { note(.int, 0) }
        func decode(_ type: UInt32.Type) throws -> UInt32 { note(.int, 0) }
        func decode(_ type: UInt64.Type) throws -> UInt64 { note(.int, 0) }
        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            let (shape, value) = try ShapeRecorder.record(type)
            return note(shape, value)
        }
    }
}
