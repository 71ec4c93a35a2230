public import Foundation

/// Names an encoding of text.
public typealias CFStringEncoding = UInt32

/// The encodings that are always there.
public enum CFStringBuiltInEncodings: CFStringEncoding, Sendable {
    /// Mac OS Roman.
    case macRoman = 0
    /// Windows-1252.
    case windowsLatin1 = 0x0500
    /// ISO 8859-1.
    case isoLatin1 = 0x0201
    /// NeXTSTEP's.
    case nextStepLatin = 0x0B01
    /// Seven bits.
    case ASCII = 0x0600
    /// UTF-16, which begins with its byte order.
    case unicode = 0x0100
    /// UTF-8.
    case UTF8 = 0x0800_0100
    /// Seven bits, and escapes for the rest.
    case nonLossyASCII = 0x0BFF
    /// UTF-16, the high byte first.
    case UTF16BE = 0x1000_0100
    /// UTF-16, the low byte first.
    case UTF16LE = 0x1400_0100
    /// UTF-32, which begins with its byte order.
    case UTF32 = 0x0C00_0100
    /// UTF-32, the high byte first.
    case UTF32BE = 0x1800_0100
    /// UTF-32, the low byte first.
    case UTF32LE = 0x1C00_0100

    /// The same as ``unicode``.
    public static var UTF16: CFStringBuiltInEncodings { .unicode }

    fileprivate var encoding: String.Encoding {
        switch self {
        case .macRoman: .macOSRoman
        case .windowsLatin1: .windowsCP1252
        case .isoLatin1: .isoLatin1
        case .nextStepLatin: .nextstep
        case .ASCII: .ascii
        case .unicode: .utf16
        case .UTF8: .utf8
        case .nonLossyASCII: .nonLossyASCII
        case .UTF16BE: .utf16BigEndian
        case .UTF16LE: .utf16LittleEndian
        case .UTF32: .utf32
        case .UTF32BE: .utf32BigEndian
        case .UTF32LE: .utf32LittleEndian
        }
    }
}

/// How two texts are compared.
public struct CFStringCompareFlags: OptionSet, Sendable {
    /// The bits.
    public let rawValue: CFOptionFlags

    /// Flags of these bits.
    ///
    /// - Parameter rawValue: The bits.
    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    /// Capitals do not count.
    public static let compareCaseInsensitive = CFStringCompareFlags(rawValue: 1)
    /// From the end; of searches only.
    public static let compareBackwards = CFStringCompareFlags(rawValue: 4)
    /// At the beginning; of searches only.
    public static let compareAnchored = CFStringCompareFlags(rawValue: 8)
    /// Letters that are composed in different ways are the same.
    public static let compareNonliteral = CFStringCompareFlags(rawValue: 16)
    /// As the user's language orders them.
    public static let compareLocalized = CFStringCompareFlags(rawValue: 32)
    /// Digits are numbers.
    public static let compareNumerically = CFStringCompareFlags(rawValue: 64)
    /// Accents do not count.
    public static let compareDiacriticInsensitive = CFStringCompareFlags(rawValue: 128)
    /// Wide and narrow forms are the same.
    public static let compareWidthInsensitive = CFStringCompareFlags(rawValue: 256)
    /// What is the same but for capitals, accents or width still has an order.
    public static let compareForcedOrdering = CFStringCompareFlags(rawValue: 512)
}

/// What a comparison says of the first against the second.
public enum CFComparisonResult: CFIndex, Sendable {
    /// It comes before.
    case compareLessThan = -1
    /// They are the same.
    case compareEqualTo = 0
    /// It comes after.
    case compareGreaterThan = 1
}

/// Makes a text of a string of C.
///
/// - Parameters:
///   - alloc: Disregarded.
///   - cStr: Bytes with a zero at their end.
///   - encoding: What they are in; one of ``CFStringBuiltInEncodings``.
/// - Returns: The text; nil if the bytes are not valid in that encoding, or the encoding is another one.
@discardableResult
public func CFStringCreateWithCString(
    _ alloc: CFAllocator!, _ cStr: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! {
    guard let encoding = CFStringBuiltInEncodings(rawValue: encoding)?.encoding else { return nil }
    return unsafe NSString(cString: cStr, encoding: encoding.rawValue)
}

/// The length of a text.
///
/// - Parameter theString: The text.
/// - Returns: How many UTF-16 units it has.
@discardableResult
public func CFStringGetLength(_ theString: CFString!) -> CFIndex { theString.length }

/// Writes a text as a string of C.
///
/// - Parameters:
///   - theString: The text.
///   - buffer: Takes the bytes and a zero.
///   - bufferSize: How many bytes it has room for.
///   - encoding: What to write in; one of ``CFStringBuiltInEncodings``.
/// - Returns: Whether all of it was written; if not, what the buffer has is of no use.
@discardableResult
public func CFStringGetCString(
    _ theString: CFString!, _ buffer: UnsafeMutablePointer<CChar>!, _ bufferSize: CFIndex, _ encoding: CFStringEncoding
) -> Bool {
    // Not by `getCString`: Foundation on Linux says yes to what it has cut short, or could not write in the encoding.
    guard let encoding = CFStringBuiltInEncodings(rawValue: encoding)?.encoding,
        let bytes = (theString as String).data(using: encoding), bytes.count < bufferSize
    else { return false }
    unsafe UnsafeMutableRawBufferPointer(start: buffer, count: bufferSize).copyBytes(from: bytes + [0])
    return true
}

/// Compares two texts.
///
/// - Parameters:
///   - theString1: A text.
///   - theString2: Another.
///   - compareOptions: How.
/// - Returns: What the first is to the second.
@discardableResult
public func CFStringCompare(
    _ theString1: CFString!, _ theString2: CFString!, _ compareOptions: CFStringCompareFlags
) -> CFComparisonResult {
    // The same bits, but for two: Foundation says what is literal, and takes a locale.
    let shared: CFStringCompareFlags = [
        .compareCaseInsensitive, .compareNumerically, .compareDiacriticInsensitive, .compareWidthInsensitive,
        .compareForcedOrdering,
    ]
    var options = NSString.CompareOptions(rawValue: compareOptions.intersection(shared).rawValue)
    if !compareOptions.contains(.compareNonliteral) { options.insert(.literal) }
    let result = theString1.compare(
        theString2 as String, options: options, range: NSRange(location: 0, length: theString1.length),
        locale: compareOptions.contains(.compareLocalized) ? Locale.current : nil)
    return switch result {
    case .orderedAscending: .compareLessThan
    case .orderedSame: .compareEqualTo
    case .orderedDescending: .compareGreaterThan
    }
}
