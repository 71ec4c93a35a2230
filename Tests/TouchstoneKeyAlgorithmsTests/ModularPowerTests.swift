import Foundation
import Testing

@testable import TouchstoneKeyAlgorithms

@Suite struct ModularPowerTests {
    @Test func powersAreThoseOfPython() throws {
        var cases: [(modulus: Data, base: Data, exponent: UInt64)] = []
        for count in [1, 7, 8, 9, 16, 17, 128, 256, 257] {
            for last in [UInt8(1), 0xff] {
                var modulus = Data.random(count: count)
                modulus[0] |= 0x80
                modulus[count - 1] = modulus[count - 1] & 0xf0 | last & 0x0f | 1
                let bases: [Data] = [
                    .filled(0, count), .joined(.filled(0, count - 1), Data([1])),
                    .joined(Data([0]), .random(count: count - 1)),
                ]
                for base in bases {
                    for exponent in [UInt64(1), 2, 3, 65537, .max >> 31] { cases.append((modulus, base, exponent)) }
                }
                // One less than the modulus.
                var base = modulus
                base[count - 1] -= 1
                cases.append((modulus, base, 65537))
            }
        }
        // Carries from every limb.
        for count in [8, 16, 64] {
            let ones = Data.filled(0xff, count)
            let middle = Data.joined(Data([0x80]), .filled(0, count - 2), Data([1]))
            for exponent in [UInt64(3), 65537] {
                cases.append((ones, .joined(ones.dropLast(), Data([0xfe])), exponent))
                cases.append((middle, .joined(Data([0x7f]), ones.dropLast()), exponent))
            }
        }
        let answers = try Foreign.python(
            cases.map {
                ["operation": "power", "modulus": $0.modulus.hex, "base": $0.base.hex, "exponent": $0.exponent]
            })
        for (number, answer) in zip(cases, answers) {
            #expect(modularPower(number.base, number.exponent, modulus: number.modulus) == answer, "\(number)")
        }
    }

    @Test func numbersThatAreNotLessAreRefused() {
        let modulus = Data([0x80, 1])
        #expect(modularPower(Data([0x80, 0]), 1, modulus: modulus) == Data([0x80, 0]))
        for base in [Data([0x80, 1]), Data([0x80, 2]), Data([0xff, 0xff]), Data(repeating: 1, count: 9)] {
            #expect(modularPower(base, 3, modulus: modulus) == nil)
        }
        #expect(modularPower(Data([1]), 0, modulus: modulus) == nil)
    }

    @Test func evenNumbersAndTheSmallestAreRefused() {
        let numbers: [Data] = [
            Data(), Data([0]), Data([1]), Data([2]), Data([0xff, 0xfe]), .filled(0, 32),
            .joined(.filled(0, 31), Data([1])),
        ]
        for number in numbers {
            #expect(modularPower(Data([0]), 3, modulus: number) == nil)
        }
        #expect(modularPower(Data([2]), 3, modulus: Data([3])) == Data([2]))
    }
}
