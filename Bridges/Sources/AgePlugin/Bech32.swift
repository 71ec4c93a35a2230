/// Bech32 as BIP 173 has it, without its limit of 90 characters: as age writes recipients and identities.
enum Bech32 {
    /// Most characters that are read.
    static let maximumCount = 16 << 10

    private static let digits = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let checksumCount = 6

    /// Lower case if the prefix is, else upper case.
    ///
    /// - Parameters:
    ///   - prefix: What stands before the last `1`.
    ///   - bytes: The rest.
    /// - Returns: The text.
    static func encode(_ prefix: String, _ bytes: [UInt8]) -> String {
        var values = regroup(bytes, from: 8, to: 5) ?? []
        let sum = checksum(of: prefix.lowercased(), values + Array(repeating: 0, count: checksumCount)) ^ 1
        for place in (0..<checksumCount).reversed() { values.append(UInt8(sum >> UInt32(5 * place) & 31)) }
        let text = String(decoding: values.map { digits[Int($0)] }, as: UTF8.self)
        return prefix == prefix.lowercased() ? "\(prefix)1\(text)" : "\(prefix)1\(text.uppercased())"
    }

    /// - Returns: The prefix as it stands there, and the bytes; nil where it is not Bech32.
    static func decode(_ text: String) -> (prefix: String, bytes: [UInt8])? {
        let characters = Array(text.utf8)
        guard characters.count <= maximumCount, characters.allSatisfy({ (33...126).contains($0) }),
            // One case for all of it.
            text == text.lowercased() || text == text.uppercased(),
            let one = characters.lastIndex(of: UInt8(ascii: "1")), one > 0,
            characters.count - one > checksumCount
        else { return nil }
        var values: [UInt8] = []
        for character in characters[(one + 1)...] {
            let lower = (0x41...0x5A).contains(character) ? character | 0x20 : character
            guard let value = digits.firstIndex(of: lower) else { return nil }
            values.append(UInt8(value))
        }
        let prefix = String(decoding: characters[..<one], as: UTF8.self)
        guard checksum(of: prefix.lowercased(), values) == 1,
            let bytes = regroup(values.dropLast(checksumCount), from: 5, to: 8)
        else { return nil }
        return (prefix, bytes)
    }

    /// - Returns: Nil where more than the needed padding is left over, or padding that is not zero.
    private static func regroup(_ values: some Sequence<UInt8>, from: UInt32, to: UInt32) -> [UInt8]? {
        var found: [UInt8] = []
        var rest: UInt32 = 0
        var count: UInt32 = 0
        for value in values {
            rest = rest << from | UInt32(value)
            count += from
            while count >= to {
                count -= to
                found.append(UInt8(rest >> count & (1 << to - 1)))
            }
            rest &= 1 << count - 1
        }
        if to < from {
            if count > 0 { found.append(UInt8(rest << (to - count))) }
        } else if count >= from || rest != 0 {
            return nil
        }
        return found
    }

    private static func checksum(of prefix: String, _ values: [UInt8]) -> UInt32 {
        let generator: [UInt32] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3]
        let expanded = prefix.utf8.map { $0 >> 5 } + [0] + prefix.utf8.map { $0 & 31 }
        return (expanded + values).reduce(1) { sum, value in
            var next = (sum & 0x1FF_FFFF) << 5 ^ UInt32(value)
            for bit in 0..<5 where sum >> UInt32(25 + bit) & 1 == 1 { next ^= generator[bit] }
            return next
        }
    }
}
