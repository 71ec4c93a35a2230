internal import Foundation

/// An odd number, to compute powers modulo it.
///
/// swift-crypto has the private operation of RSA and not the public one, which encrypts and verifies. How long it takes and what memory it
/// touches depend on the modulus and the exponent, which are public, and not on the base, which may be a padded secret.
struct MontgomeryModulus: Sendable {
    /// The least significant first.
    private let limbs: [UInt64]
    /// -1/n modulo 2⁶⁴.
    private let negativeInverse: UInt64
    /// 1 and 2^(64·limbs), both times 2^(64·limbs).
    private let one: [UInt64]
    private let square: [UInt64]

    /// Takes a number in big-endian bytes; nil for an even one or less than 3.
    init?(_ bytes: Data) {
        let limbs = Self.limbs(bytes, count: (bytes.count + 7) / 8)
        guard let lowest = limbs.first, lowest & 1 == 1, limbs.dropFirst().contains(where: { $0 != 0 }) || lowest > 1
        else { return nil }
        self.limbs = limbs
        // Newton: each step doubles the bits that are right, of which three are to begin with.
        var inverse = lowest
        for _ in 0..<5 { inverse &*= 2 &- lowest &* inverse }
        negativeInverse = 0 &- inverse
        var power: [UInt64] = [1] + Array(repeating: 0, count: limbs.count - 1)
        for _ in 0..<64 * limbs.count { power = Self.sum(power, power, limbs) }
        one = power
        for _ in 0..<64 * limbs.count { power = Self.sum(power, power, limbs) }
        square = power
    }

    /// A power in as many bytes as the base has; nil where the base is not less than the modulus, or the exponent is 0.
    func power(_ base: Data, _ exponent: UInt64) -> Data? {
        let byteCount = base.count
        guard exponent > 0, byteCount <= 8 * limbs.count else { return nil }
        let number = Self.limbs(base, count: limbs.count)
        guard Self.difference(number, limbs).borrow == 1 else { return nil }
        let factor = product(number, square)
        var result = one
        for bit in (0..<64 - exponent.leadingZeroBitCount).reversed() {
            result = product(result, result)
            if exponent >> UInt64(bit) & 1 == 1 { result = product(result, factor) }
        }
        result = product(result, [1] + Array(repeating: 0, count: limbs.count - 1))
        return Data(result.reversed().flatMap(\.bigEndianBytes).suffix(byteCount))
    }

    /// `left · right / 2^(64·limbs)` modulo n, for two numbers less than n.
    private func product(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        let count = limbs.count
        var sum = [UInt64](repeating: 0, count: count + 2)
        for outer in 0..<count {
            var carry: UInt64 = 0
            for inner in 0..<count {
                (carry, sum[inner]) = Self.multiply(left[inner], right[outer], sum[inner], carry)
            }
            add(carry, to: &sum)
            // Makes the lowest limb 0, which is then dropped.
            let factor = sum[0] &* negativeInverse
            (carry, _) = Self.multiply(factor, limbs[0], sum[0], 0)
            for inner in 1..<count {
                (carry, sum[inner - 1]) = Self.multiply(factor, limbs[inner], sum[inner], carry)
            }
            let (low, overflow) = sum[count].addingReportingOverflow(carry)
            sum[count - 1] = low
            sum[count] = sum[count + 1] &+ (overflow ? 1 : 0)
            sum[count + 1] = 0
        }
        return Self.reduced(Array(sum[..<count]), sum[count], limbs)
    }

    private func add(_ carry: UInt64, to sum: inout [UInt64]) {
        let (low, overflow) = sum[limbs.count].addingReportingOverflow(carry)
        sum[limbs.count] = low
        sum[limbs.count + 1] &+= overflow ? 1 : 0
    }

    /// `left · right + first + second`, which always fits.
    private static func multiply(
        _ left: UInt64, _ right: UInt64, _ first: UInt64, _ second: UInt64
    ) -> (high: UInt64, low: UInt64) {
        var (high, low) = left.multipliedFullWidth(by: right)
        var overflow: Bool
        (low, overflow) = low.addingReportingOverflow(first)
        high &+= overflow ? 1 : 0
        (low, overflow) = low.addingReportingOverflow(second)
        high &+= overflow ? 1 : 0
        return (high, low)
    }

    private static func sum(_ left: [UInt64], _ right: [UInt64], _ modulus: [UInt64]) -> [UInt64] {
        var result = left
        var carry: UInt64 = 0
        for index in result.indices {
            (carry, result[index]) = multiply(left[index], 1, right[index], carry)
        }
        return reduced(result, carry, modulus)
    }

    /// A number less than twice the modulus, less the modulus where it is not less; without a branch.
    private static func reduced(_ number: [UInt64], _ high: UInt64, _ modulus: [UInt64]) -> [UInt64] {
        let (difference, borrow) = difference(number, modulus)
        // All ones where the number is already less.
        let keep = 0 &- (borrow & (high ^ 1))
        return zip(number, difference).map { ($0 & keep) | ($1 & ~keep) }
    }

    private static func difference(_ left: [UInt64], _ right: [UInt64]) -> (limbs: [UInt64], borrow: UInt64) {
        var result = left
        var borrow: UInt64 = 0
        for index in result.indices {
            let (first, firstBorrow) = left[index].subtractingReportingOverflow(right[index])
            let (second, secondBorrow) = first.subtractingReportingOverflow(borrow)
            result[index] = second
            borrow = (firstBorrow ? 1 : 0) | (secondBorrow ? 1 : 0)
        }
        return (result, borrow)
    }

    private static func limbs(_ bytes: Data, count: Int) -> [UInt64] {
        var limbs = [UInt64](repeating: 0, count: count)
        for (position, byte) in bytes.reversed().enumerated() {
            limbs[position / 8] |= UInt64(byte) << UInt64(position % 8 * 8)
        }
        return limbs
    }
}
