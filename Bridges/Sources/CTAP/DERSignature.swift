/// Signatures as X.509 has them: a sequence of two numbers.
enum DERSignature {
    /// - Parameter raw: r and s, 32 bytes each.
    /// - Returns: The same signature in DER.
    static func encoded(_ raw: [UInt8]) -> [UInt8] {
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            // Never negative, and never without a digit.
            if digits.first.map({ $0 & 0x80 != 0 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let numbers = number(raw.prefix(32)) + number(raw.dropFirst(32))
        return [0x30, UInt8(numbers.count)] + numbers
    }
}
