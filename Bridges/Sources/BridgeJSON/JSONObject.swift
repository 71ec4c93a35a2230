public import Foundation

/// Writes an object of JSON: without white space, its members in the order in which they come.
///
/// Foundation's encoder took a ninth of the time in which a password is stored (DEC-531).
public struct JSONObject: Sendable {
    private var bytes = [UInt8(ascii: "{")]

    /// An object without members.
    public init() { bytes.reserveCapacity(512) }

    /// Its text.
    public var data: Data { Data(closed) }

    private var closed: [UInt8] { bytes + CollectionOfOne(UInt8(ascii: "}")) }

    // MARK: Members

    /// Adds a text; nothing for nil.
    public mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        write(text)
    }

    /// Adds bytes in base64; nothing for nil.
    public mutating func add(_ name: String, base64 data: Data?) {
        guard let data else { return }
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        bytes += data.base64EncodedData()
        bytes.append(UInt8(ascii: "\""))
    }

    /// Adds a number; nothing for nil.
    public mutating func add(_ name: String, _ number: (some BinaryInteger)?) {
        guard let number else { return }
        begin(name)
        bytes += "\(number)".utf8
    }

    /// Adds a Boolean; nothing for nil.
    public mutating func add(_ name: String, _ isTrue: Bool?) {
        guard let isTrue else { return }
        begin(name)
        bytes += (isTrue ? "true" : "false").utf8
    }

    /// Adds an object; nothing for nil.
    public mutating func add(_ name: String, _ object: JSONObject?) {
        guard let object else { return }
        begin(name)
        bytes += object.closed
    }

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        write(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: bytes += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
