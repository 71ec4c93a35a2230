/// What the kernel's uhid says to the program behind a device, and what that says to it (FD-1, FD-2).
public enum UHIDEvent: Hashable, Sendable {
    /// Somebody has the device open now.
    case opened
    /// Nobody has it open any more.
    case closed
    /// Somebody wrote this report, without its number.
    case output([UInt8])
    /// Somebody wants a report, which there is not: answered with an error.
    case getReport(id: UInt32)
    /// Somebody sets a report, which there is not: answered with an error.
    case setReport(id: UInt32)
    /// Nothing that matters here, such as START.
    case other

    private enum Kind {
        static let destroy: UInt32 = 1
        static let open: UInt32 = 4
        static let close: UInt32 = 5
        static let output: UInt32 = 6
        static let getReport: UInt32 = 9
        static let getReportReply: UInt32 = 10
        static let create: UInt32 = 11
        static let input: UInt32 = 12
        static let setReport: UInt32 = 13
        static let setReportReply: UInt32 = 14
    }

    private static let mostData = 4096
    /// Bytes of the largest event: `struct uhid_event` of `linux/uhid.h`, packed.
    public static let longest = 4 + 128 + 64 + 64 + 2 + 2 + 4 * 4 + mostData
    private static let ioError: UInt16 = 5

    /// Reads an event; nil if it is shorter than its kind.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= 4 else { return nil }
        switch Self.number(bytes[0..<4]) {
        case Kind.open: self = .opened
        case Kind.close: self = .closed
        case Kind.output:
            guard bytes.count >= 4 + Self.mostData + 2 else { return nil }
            let count = Int(Self.number(bytes[4 + Self.mostData..<4 + Self.mostData + 2]))
            guard count <= Self.mostData else { return nil }
            var report = bytes[4..<4 + count]
            // A report's number stands in front, which is 0 where there is only one.
            if count == HIDMessage.packetCount + 1, report.first == 0 { report = report.dropFirst() }
            self = .output(Array(report))
        case Kind.getReport:
            guard bytes.count >= 8 else { return nil }
            self = .getReport(id: Self.number(bytes[4..<8]))
        case Kind.setReport:
            guard bytes.count >= 8 else { return nil }
            self = .setReport(id: Self.number(bytes[4..<8]))
        default: self = .other
        }
    }

    /// The error with which it is answered at once; nil if it wants no answer.
    public var refusal: [UInt8]? {
        switch self {
        case .getReport(let id):
            Self.bytes(Kind.getReportReply) + Self.bytes(id) + Self.short(Self.ioError) + Self.short(0)
        case .setReport(let id): Self.bytes(Kind.setReportReply) + Self.bytes(id) + Self.short(Self.ioError)
        default: nil
        }
    }

    /// One usage page, 0xF1D0, with one usage: a report of 64 bytes in each direction.
    static let descriptor: [UInt8] = [
        0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01,
        0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x81, 0x02,
        0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02,
        0xC0,
    ]

    /// Makes the device.
    ///
    /// Its bus is USB's, because libfido2 lists nothing else. Its numbers are those of nobody's product.
    public static func create(name: String) -> [UInt8] {
        let usb: UInt16 = 3
        return bytes(Kind.create) + padded(Array(name.utf8), 128) + padded(Array("touchstone-fido".utf8), 64)
            + padded([], 64) + short(UInt16(descriptor.count)) + short(usb)
            + [vendor, product, 1, 0].flatMap(bytes) + padded(descriptor, mostData)
    }

    /// Removes the device again.
    public static var destroy: [UInt8] { bytes(Kind.destroy) }

    /// Not given out by the USB Implementers Forum.
    public static let vendor: UInt32 = 0xF1D0
    /// Of the vendor's products.
    public static let product: UInt32 = 0x7053

    /// Has whoever has the device open read this packet.
    public static func input(_ packet: [UInt8]) -> [UInt8] {
        bytes(Kind.input) + short(UInt16(packet.count)) + packet
    }

    private static func padded(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        bytes.prefix(count) + [UInt8](repeating: 0, count: count - min(count, bytes.count))
    }

    // The kernel's numbers are in the machine's order, which is little-endian on every machine that this is built for.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func short(_ number: UInt16) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }
}
