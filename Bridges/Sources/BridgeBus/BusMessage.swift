internal import CSystemd
internal import CTouchstoneSystem
internal import Glibc

/// A message of sd-bus: reads and writes values.
@safe final class BusMessage {
    let message: OpaquePointer

    /// Takes ownership of `message`.
    @unsafe init(_ message: OpaquePointer) { unsafe self.message = message }

    deinit {
        // Closes what came along.
        touchstone_interrupt_closing(true)
        unsafe _ = sd_bus_message_unref(message)
        touchstone_interrupt_closing(false)
    }

    /// The most that is read of one message.
    private enum Limits {
        static let depth = 8
        static let values = 64 << 10
        static let bytes = 2 << 20
        static let descriptors = 1
        static let name = 255
    }

    /// What of the limits is left.
    private struct Budget {
        var values = Limits.values
        var bytes = Limits.bytes
        var descriptors = Limits.descriptors

        /// Of an answer that was asked for.
        static let ofReply = Budget(values: 1 << 20, bytes: 64 << 20)
    }

    /// A unique name, or the bus's own: the bus writes it itself.
    var sender: String { unsafe Self.text(sd_bus_message_get_sender(message)) ?? "" }
    var path: String { unsafe Self.text(sd_bus_message_get_path(message)) ?? "" }
    var interface: String? { unsafe Self.text(sd_bus_message_get_interface(message)) }
    var member: String { unsafe Self.text(sd_bus_message_get_member(message)) ?? "" }
    var isCall: Bool { unsafe sd_bus_message_is_method_call(message, nil, nil) > 0 }
    var expectsReply: Bool { unsafe sd_bus_message_get_expect_reply(message) > 0 }

    /// The number of the call that this answers, or refuses; nil for another message.
    var answeredCookie: UInt64? {
        var type: UInt8 = 0
        var cookie: UInt64 = 0
        guard unsafe sd_bus_message_get_type(message, &type) >= 0,
            [SD_BUS_MESSAGE_METHOD_RETURN, SD_BUS_MESSAGE_METHOD_ERROR].contains(numericCast(type)),
            unsafe sd_bus_message_get_reply_cookie(message, &cookie) >= 0
        else { return nil }
        return cookie
    }

    /// The name of the error; nil where this is no refusal.
    var refusal: String? {
        guard unsafe sd_bus_message_is_method_error(message, nil) > 0 else { return nil }
        return unsafe Self.text(sd_bus_message_get_error(message).pointee.name) ?? ""
    }

    func isSignal(_ interface: String, _ member: String) -> Bool {
        unsafe sd_bus_message_is_signal(message, interface, member) > 0
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        guard let pointer = unsafe pointer, unsafe strnlen(pointer, Limits.name + 1) <= Limits.name else { return nil }
        return unsafe String(cString: pointer)
    }

    // MARK: Reading

    /// All values; nil where there is a type that no service here has, or more than is read.
    func values() -> [BusValue]? { read()?.values }

    /// All values of an answer to a call, of which more is read.
    func replyValues() -> [BusValue]? {
        var budget = Budget.ofReply
        return rest(0, &budget)
    }

    /// All values, and about how many bytes of memory they take; nil as of ``values()``.
    func read() -> (values: [BusValue], bytes: Int)? {
        var budget = Budget()
        guard let values = rest(0, &budget) else { return nil }
        let count = Limits.values - budget.values
        return (values, Limits.bytes - budget.bytes + count * MemoryLayout<BusValue>.stride)
    }

    private func rest(_ depth: Int, _ budget: inout Budget) -> [BusValue]? {
        var found: [BusValue] = []
        while let type = next {
            guard depth < Limits.depth, budget.values > 0, let value = value(type, depth, &budget) else { return nil }
            budget.values -= 1
            found.append(value)
        }
        return found
    }

    private var next: (code: UInt8, contents: String)? {
        var code: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_peek_type(message, &code, &contents) > 0 else { return nil }
        return (UInt8(bitPattern: code), unsafe Self.text(contents) ?? "")
    }

    private func value(_ type: (code: UInt8, contents: String), _ depth: Int, _ budget: inout Budget) -> BusValue? {
        switch type.code {
        case UInt8(ascii: "s"): return text(type.code, &budget).map(BusValue.string)
        case UInt8(ascii: "o"): return text(type.code, &budget).map(BusValue.path)
        case UInt8(ascii: "b"): return basic(type.code, Int32(0)).map { .boolean($0 != 0) }
        case UInt8(ascii: "i"): return basic(type.code, Int32(0)).map(BusValue.int32)
        case UInt8(ascii: "u"): return basic(type.code, UInt32(0)).map(BusValue.uint32)
        case UInt8(ascii: "t"): return basic(type.code, UInt64(0)).map(BusValue.uint64)
        case UInt8(ascii: "h"): return descriptor(type.code, &budget).map(BusValue.descriptor)
        case UInt8(ascii: "a") where type.contents == "y": return bytes(&budget).map(BusValue.bytes)
        case UInt8(ascii: "a"):
            return inside(type, depth, &budget).map { .array(type.contents, $0) }
        case UInt8(ascii: "v"):
            guard let values = inside(type, depth, &budget), values.count == 1 else { return nil }
            return .variant(values[0])
        case UInt8(ascii: "r"): return inside(type, depth, &budget).map(BusValue.structure)
        case UInt8(ascii: "e"):
            guard let values = inside(type, depth, &budget), values.count == 2 else { return nil }
            return .entry(values[0], values[1])
        default: return nil
        }
    }

    private func inside(
        _ type: (code: UInt8, contents: String), _ depth: Int, _ budget: inout Budget
    ) -> [BusValue]? {
        guard unsafe sd_bus_message_enter_container(message, CChar(bitPattern: type.code), type.contents) > 0,
            let found = rest(depth + 1, &budget), unsafe sd_bus_message_exit_container(message) >= 0
        else { return nil }
        return found
    }

    private func basic<Number>(_ code: UInt8, _ zero: Number) -> Number? {
        var number = zero
        let result = unsafe withUnsafeMutablePointer(to: &number) {
            unsafe sd_bus_message_read_basic(message, CChar(bitPattern: code), UnsafeMutableRawPointer($0))
        }
        return result > 0 ? number : nil
    }

    private func descriptor(_ code: UInt8, _ budget: inout Budget) -> BusDescriptor? {
        guard budget.descriptors > 0, let number = basic(code, Int32(-1)) else { return nil }
        budget.descriptors -= 1
        return BusDescriptor(copying: number)
    }

    private func text(_ code: UInt8, _ budget: inout Budget) -> String? {
        var text: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(message, CChar(bitPattern: code), &text) > 0,
            let text = unsafe text
        else { return nil }
        let count = unsafe strnlen(text, budget.bytes + 1)
        guard count <= budget.bytes else { return nil }
        budget.bytes -= count
        return unsafe String(cString: text)
    }

    private func bytes(_ budget: inout Budget) -> [UInt8]? {
        var pointer: UnsafeRawPointer?
        var count = 0
        guard unsafe sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &pointer, &count) >= 0,
            count <= budget.bytes
        else { return nil }
        budget.bytes -= count
        guard count > 0, let pointer = unsafe pointer else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: pointer, count: count))
    }

    // MARK: Writing

    /// Appends values; false where the bus takes one of them for malformed.
    func append(_ values: [BusValue]) -> Bool { values.allSatisfy(append) }

    private func append(_ value: BusValue) -> Bool {
        switch value {
        case .string(let text): return append(text, "s")
        case .path(let text): return append(text, "o")
        case .boolean(let flag): return append(number: Int32(flag ? 1 : 0), "b")
        case .int32(let number): return append(number: number, "i")
        case .uint32(let number): return append(number: number, "u")
        case .uint64(let number): return append(number: number, "t")
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes {
                unsafe sd_bus_message_append_array(message, CChar(UInt8(ascii: "y")), $0.baseAddress, $0.count) >= 0
            }
        case .descriptor(let descriptor): return append(number: descriptor.number, "h")
        case .array(let element, let values): return contain("a", element, values)
        case .entry(let key, let value): return contain("e", key.signature + value.signature, [key, value])
        case .structure(let values): return contain("r", values.map(\.signature).joined(), values)
        case .variant(let value): return contain("v", value.signature, [value])
        }
    }

    private func append(_ text: String, _ type: Unicode.Scalar) -> Bool {
        unsafe text.withCString {
            unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: type)), $0) >= 0
        }
    }

    private func append<Number>(number: Number, _ type: Unicode.Scalar) -> Bool {
        unsafe withUnsafePointer(to: number) {
            unsafe sd_bus_message_append_basic(message, CChar(UInt8(ascii: type)), UnsafeRawPointer($0)) >= 0
        }
    }

    private func contain(_ type: Unicode.Scalar, _ contents: String, _ values: [BusValue]) -> Bool {
        guard unsafe sd_bus_message_open_container(message, CChar(UInt8(ascii: type)), contents) >= 0 else {
            return false
        }
        guard append(values) else { return false }
        return unsafe sd_bus_message_close_container(message) >= 0
    }
}
