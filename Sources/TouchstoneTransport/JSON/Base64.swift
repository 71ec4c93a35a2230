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
    /// So much at a time, that what Foundation makes of it can be zeroed; without padding in between.
    private static let pieceBytes = 48 << 10

    static func encode(_ data: Data, into text: WipedBytes) {
        text.reserve(text.count + (data.count + 2) / 3 * 4 + 1)
        unsafe data.withUnsafeBytes { bytes in
            guard bytes.count >= foundationBytes else { return unsafe encode(bytes, into: text) }
            for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                // Ours alone, so that what is zeroed is what was written.
                let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + pieceBytes, bytes.count)])
                var plain = unsafe Data(piece)
                var encoded = plain.base64EncodedData()
                text.append(contentsOf: encoded)
                plain.resetBytes(in: 0..<plain.count)
                encoded.resetBytes(in: 0..<encoded.count)
            }
        }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer, into text: WipedBytes) {
        let alphabet = alphabet
        var bits: UInt32 = 0
        var count = 0
        for index in bytes.indices {
            bits = unsafe bits << 8 | UInt32(bytes[index])
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
        guard let last = text.last else { return Data() }
        let padded = last != padding ? 0 : text[text.endIndex - 2] == padding ? 2 : 1
        return unsafe Data(wiping: text.count / 4 * 3 - padded) { bytes in
            unsafe text.count >= foundationBytes
                ? decodeByFoundation(text, into: bytes) : decode(text.dropLast(padded), padded, into: bytes)
        }
    }

    private static func decodeByFoundation(_ text: ArraySlice<UInt8>, into bytes: UnsafeMutableRawBufferPointer) -> Bool
    {
        var written = 0
        for start in stride(from: text.startIndex, to: text.endIndex, by: pieceBytes) {
            let end = min(start + pieceBytes, text.endIndex)
            var encoded = Data(text[start..<end])
            defer { encoded.resetBytes(in: 0..<encoded.count) }
            guard var plain = Data(base64Encoded: encoded),
                // Padding is at the end of all of it only.
                end == text.endIndex || plain.count == pieceBytes / 4 * 3, written + plain.count <= bytes.count
            else { return false }
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[written...]).copyBytes(from: plain)
            written += plain.count
            plain.resetBytes(in: 0..<plain.count)
        }
        return written == bytes.count
    }

    private static func decode(_ text: ArraySlice<UInt8>, _ padded: Int, into bytes: UnsafeMutableRawBufferPointer)
        -> Bool
    {
        let values = values
        var written = 0
        func append(_ bits: UInt32) {
            unsafe bytes[written] = UInt8(truncatingIfNeeded: bits)
            written += 1
        }
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            let value = values[Int(character)]
            guard value != notInAlphabet else { return false }
            bits = bits << 6 | UInt32(value)
            count += 1
            guard count == 4 else { continue }
            append(bits >> 16)
            append(bits >> 8)
            append(bits)
            (bits, count) = (0, 0)
        }
        if padded == 1 { append(bits >> 10) }
        if padded > 0 { append(bits >> (padded == 1 ? 2 : 4)) }
        return true
    }
}
