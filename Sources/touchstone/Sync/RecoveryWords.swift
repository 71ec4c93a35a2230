import Crypto
import Foundation
import TouchstoneDevice

/// A recovery key's secret as words, and back (SY-14, DEC-550).
///
/// 13 words of 11 bits each: 128 bits of the secret, then 15 bits of its checksum. Words and secret are in locked memory, which is wiped.
enum RecoveryWords {
    static let count = 13
    private static let wordBits = 11
    private static let checksumBits = 15
    /// Of the secret.
    static let secretBytes = 16

    /// Why something is not a recovery key; it never says what was typed.
    enum Mistake: Error, Equatable {
        /// There are so many words.
        case count(Int)
        /// The word of this number, from 1 on, is not in the list.
        case unknownWord(Int)
        /// All words are in the list, and they do not belong together.
        case checksum

        var text: String {
            switch self {
            case .count(let count): "a recovery key has \(RecoveryWords.count) words, and these are \(count)"
            case .unknownWord(let number):
                "word \(number) is not one that a recovery key can have: look at how it is spelled"
            case .checksum: "a word is wrong, or the words are not in their order"
            }
        }
    }

    /// Draws a new secret, of the kernel's random numbers.
    static func newSecret() -> PasscodeBuffer {
        let secret = PasscodeBuffer()
        for _ in 0..<secretBytes { secret.append(.random(in: .min ... .max)) }
        return secret
    }

    /// The words of a secret of 16 bytes, with a space between two.
    static func words(of secret: PasscodeBuffer) -> PasscodeBuffer {
        precondition(secret.count == secretBytes)
        let words = PasscodeBuffer()
        let checksum = checksum(of: secret)
        for word in 0..<count {
            var index = 0
            for bit in (word * wordBits)..<((word + 1) * wordBits) {
                index = index << 1 | Self.bit(bit, secret, checksum)
            }
            if word > 0 { words.append(UInt8(ascii: " ")) }
            for letter in list[index] { words.append(letter) }
        }
        return words
    }

    private static func bit(_ number: Int, _ secret: PasscodeBuffer, _ checksum: UInt16) -> Int {
        let secretBits = secretBytes * 8
        return number < secretBits
            ? Int(secret[number / 8]) >> (7 - number % 8) & 1
            : Int(checksum) >> (checksumBits - 1 - (number - secretBits)) & 1
    }

    /// The secret of these words: small or large letters, and spaces between them.
    static func secret(of typed: PasscodeBuffer) throws(Mistake) -> PasscodeBuffer {
        var indices: [Int] = []
        defer { for place in indices.indices { indices[place] = 0 } }
        indices.reserveCapacity(count)
        var (start, words, unknown) = (0, 0, Int?.none)
        for place in 0...typed.count {
            let isEnd = place == typed.count || [0x20, 0x09, 0x0D].contains(typed[place])
            guard isEnd else { continue }
            if place > start {
                words += 1
                let index = self.index(typed, start..<place)
                if index == nil, unknown == nil { unknown = words }
                if words <= count { indices.append(index ?? 0) }
            }
            start = place + 1
        }
        guard !typed.isTooLong, words == count else { throw .count(words) }
        if let unknown { throw .unknownWord(unknown) }
        let secret = PasscodeBuffer()
        func bit(_ number: Int) -> Int { indices[number / wordBits] >> (wordBits - 1 - number % wordBits) & 1 }
        for byte in 0..<secretBytes {
            secret.append((byte * 8..<(byte + 1) * 8).reduce(UInt8(0)) { $0 << 1 | UInt8(bit($1)) })
        }
        let said = (secretBytes * 8..<count * wordBits).reduce(UInt16(0)) { $0 << 1 | UInt16(bit($1)) }
        guard said == checksum(of: secret) else { throw .checksum }
        return secret
    }

    private static func index(_ typed: PasscodeBuffer, _ range: Range<Int>) -> Int? {
        list.firstIndex { word in
            word.count == range.count
                && word.indices.allSatisfy { place in
                    let byte = typed[range.lowerBound + place]
                    return word[place] == ((0x41...0x5A).contains(byte) ? byte + 0x20 : byte)
                }
        }
    }

    /// 15 bits.
    private static func checksum(of secret: PasscodeBuffer) -> UInt16 {
        var hash = SHA256()
        hash.update(data: Data("io.touchstone recovery words 1\0".utf8))
        unsafe secret.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        let digest = Array(hash.finalize().prefix(2))
        return (UInt16(digest[0]) << 8 | UInt16(digest[1])) >> 1
    }
}
