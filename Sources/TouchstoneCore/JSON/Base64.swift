internal import Foundation

/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")
    private static let notInAlphabet: UInt8 = 0xFF
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: notInAlphabet, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// From so many bytes on Foundation does it, which is compiled with optimization whatever we are.
    private static let foundationBytes = 16 << 10

    static func encode(_ data: Data, into text: inout [UInt8]) {
        if data.count >= foundationBytes { return text.append(contentsOf: data.base64EncodedData()) }
        let alphabet = alphabet
        var bits: UInt32 = 0
        var count = 0
        for byte in [UInt8](data) {
            bits = bits << 8 | UInt32(byte)
            count += 1
            guard count == 3 else { continue }
            text.append(alphabet[Int(bits >> 18 & 63)])
            text.append(alphabet[Int(bits >> 12 & 63)])
            text.append(alphabet[Int(bits >> 6 & 63)])
            text.append(alphabet[Int(bits & 63)])
            (bits, count) = (0, 0)
        }
        guard count > 0 else { return }
        bits <<= UInt32(8 * (3 - count))
        for place in 0..<4 {
            text.append(place <= count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : padding)
        }
    }

    /// nil for anything that is not whole groups of four characters.
    static func decode(_ text: ArraySlice<UInt8>) -> Data? {
        guard text.count.isMultiple(of: 4) else { return nil }
        if text.count >= foundationBytes { return Data(base64Encoded: Data(text)) }
        guard let last = text.last else { return Data() }
        let values = values
        let padded = last != padding ? 0 : text[text.endIndex - 2] == padding ? 2 : 1
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var count = 0
        for character in text.dropLast(padded) {
            let value = values[Int(character)]
            guard value != notInAlphabet else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            guard count == 4 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
            bytes.append(UInt8(truncatingIfNeeded: bits))
            (bits, count) = (0, 0)
        }
        if padded == 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> 10)) }
        if padded > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> (padded == 1 ? 2 : 4))) }
        return Data(bytes)
    }
}
