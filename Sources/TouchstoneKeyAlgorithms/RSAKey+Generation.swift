internal import CNettle
internal import Foundation
internal import TouchstoneCore

extension RSAPrivateKey {
    /// The sizes of the keys that are made: of these, the multiples of 8.
    package static let sizesInBits = 1024...8192

    /// The PKCS#1 of a new key with the exponent 65537, of any of these sizes.
    ///
    /// BoringSSL makes keys of whole 128 bits only, so the others are nettle's.
    ///
    /// - Returns: The key; the caller erases it.
    /// - Throws: `errSecInternal` where none could be made.
    static func newPKCS1(sizeInBits: Int) throws(Status) -> Data {
        let size = sizeInBits / 8
        var numbers = Data(count: 7 * size)
        defer { numbers.erase() }
        let isDone = unsafe numbers.withUnsafeMutableBytes {
            unsafe touchstone_generate_rsa($0.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(sizeInBits))
        }
        guard isDone else { throw .internalError }
        var content = Data(capacity: 8 * size)
        defer { content.erase() }
        content.appendInteger(Data([0]))
        for index in 0..<7 {
            content.appendInteger(numbers[index * size..<(index + 1) * size])
            // The public exponent comes after the modulus.
            if index == 0 { content.appendInteger(Data([1, 0, 1])) }
        }
        var key = Data(capacity: content.count + 8)
        key.appendHeader(0x30, count: content.count)
        key.append(content)
        return key
    }
}

extension Data {
    /// The DER of a number that is not below zero.
    fileprivate mutating func appendInteger(_ bytes: Data) {
        // A slice: no copy of a secret is left.
        let digits = bytes[(bytes.firstIndex { $0 != 0 } ?? bytes.endIndex - 1)...]
        let needsZero = (digits.first ?? 0) >= 0x80
        appendHeader(0x02, count: digits.count + (needsZero ? 1 : 0))
        if needsZero { append(0) }
        append(digits)
    }

    /// The tag and the length of what follows, less than 65,536 bytes.
    fileprivate mutating func appendHeader(_ tag: UInt8, count: Int) {
        append(tag)
        switch count {
        case ..<0x80: append(UInt8(count))
        case ..<0x100: append(contentsOf: [0x81, UInt8(count)])
        default: append(contentsOf: [0x82, UInt8(count >> 8), UInt8(count & 0xff)])
        }
    }
}
