internal import CSystemd
internal import Glibc

/// A message that came over the bus: sd-bus has checked its form, and everything in it is its sender's word but who that is.
@safe final class BusMessage {
    private let message: OpaquePointer

    /// Takes ownership of `message`.
    @unsafe init(_ message: OpaquePointer) { unsafe self.message = message }

    deinit { unsafe _ = sd_bus_message_unref(message) }

    /// A unique name, or the bus's own: the bus writes it itself.
    var sender: String { unsafe Self.text(sd_bus_message_get_sender(message), bytes: 255) ?? "" }

    func isAnswer(to cookie: UInt64) -> Bool {
        var answered: UInt64 = 0
        return unsafe sd_bus_message_get_reply_cookie(message, &answered) >= 0 && answered == cookie
    }

    /// nil if it is not an error.
    var errorName: String? {
        guard unsafe sd_bus_message_is_method_error(message, nil) > 0,
            let error = unsafe sd_bus_message_get_error(message)
        else { return nil }
        return unsafe Self.text(error.pointee.name, bytes: 255) ?? ""
    }

    /// All text of it: alone, in an array, or in a variant, where a truth value is text too; nil if there is more of it than that, or
    /// something else is in an array.
    func texts(atMost count: Int, bytes: Int) -> [String]? {
        var found: [String] = []
        while let type = next {
            switch type.code {
            case UInt8(ascii: "s"), UInt8(ascii: "o"):
                guard found.count < count, let text = readText(type.code, bytes: bytes) else { return nil }
                found.append(text)
            case UInt8(ascii: "a"), UInt8(ascii: "v"):
                guard ["s", "o"].contains(type.contents) || (type.code == UInt8(ascii: "v") && type.contents == "b")
                else {
                    return nil
                }
                guard
                    unsafe sd_bus_message_enter_container(message, CChar(bitPattern: type.code), type.contents) > 0
                else { return nil }
                while let inner = next {
                    let text = type.contents == "b" ? readFlag().map { "\($0)" } : readText(inner.code, bytes: bytes)
                    guard found.count < count, let text else { return nil }
                    found.append(text)
                }
                guard unsafe sd_bus_message_exit_container(message) >= 0 else { return nil }
            default:
                // Numbers that nobody asks for.
                guard unsafe sd_bus_message_skip(message, nil) >= 0 else { return nil }
            }
        }
        return found
    }

    /// A copy of the one descriptor that it is, which the caller closes; nil if it is something else.
    func descriptor() -> Int32? {
        var descriptor: Int32 = -1
        guard next?.code == UInt8(ascii: "h"),
            unsafe sd_bus_message_read_basic(message, CChar(UInt8(ascii: "h")), &descriptor) > 0
        else { return nil }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return copy >= 0 ? copy : nil
    }

    /// nil if it is not a signal, or not one of text and a truth value; what comes behind a first text may be an array, which is not read.
    func signal(bytes: Int) -> MessageBus.Signal? {
        var type: UInt8 = 0
        guard unsafe sd_bus_message_get_type(message, &type) >= 0, type == UInt8(SD_BUS_MESSAGE_SIGNAL),
            let path = unsafe Self.text(sd_bus_message_get_path(message), bytes: bytes),
            let interface = unsafe Self.text(sd_bus_message_get_interface(message), bytes: bytes),
            let member = unsafe Self.text(sd_bus_message_get_member(message), bytes: bytes)
        else { return nil }
        var signal = MessageBus.Signal(sender: sender, path: path, name: "\(interface).\(member)", texts: [])
        while let type = next {
            switch type.code {
            case UInt8(ascii: "s"):
                guard signal.texts.count < 3, let text = readText(type.code, bytes: bytes) else { return nil }
                signal.texts.append(text)
            case UInt8(ascii: "b"):
                guard signal.flag == nil, let flag = readFlag() else { return nil }
                signal.flag = flag
            case UInt8(ascii: "a") where !signal.texts.isEmpty: return signal
            default: return nil
            }
        }
        return signal
    }

    /// The type of what is read next; nil at the end.
    private var next: (code: UInt8, contents: String)? {
        var code: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_peek_type(message, &code, &contents) > 0 else { return nil }
        return (UInt8(bitPattern: code), unsafe Self.text(contents, bytes: 255) ?? "")
    }

    private func readFlag() -> Bool? {
        var flag: Int32 = 0
        guard unsafe sd_bus_message_read_basic(message, CChar(UInt8(ascii: "b")), &flag) > 0 else { return nil }
        return flag != 0
    }

    private func readText(_ code: UInt8, bytes: Int) -> String? {
        var text: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(message, CChar(bitPattern: code), &text) > 0 else { return nil }
        return unsafe Self.text(text, bytes: bytes)
    }

    /// nil if there is none, or it is longer than `bytes`.
    private static func text(_ pointer: UnsafePointer<CChar>?, bytes: Int) -> String? {
        guard let pointer = unsafe pointer, unsafe strnlen(pointer, bytes + 1) <= bytes else { return nil }
        return unsafe String(cString: pointer)
    }
}
