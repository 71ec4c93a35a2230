/// A set of numbers, most of which follow each other.
package struct NumberRanges: Codable, Equatable, Sendable {
    /// Sorted, apart from each other; each is its first and last number.
    private var ranges: [[UInt64]] = []

    package init() {}

    package func contains(_ number: UInt64) -> Bool {
        let place = place(of: number)
        return place > 0 && ranges[place - 1][1] >= number
    }

    package mutating func insert(_ number: UInt64) {
        guard !contains(number) else { return }
        let place = place(of: number)
        let joinsLeft = place > 0 && ranges[place - 1][1] + 1 == number
        let joinsRight = place < ranges.count && number + 1 == ranges[place][0]
        switch (joinsLeft, joinsRight) {
        case (true, true):
            ranges[place - 1][1] = ranges[place][1]
            ranges.remove(at: place)
        case (true, false): ranges[place - 1][1] = number
        case (false, true): ranges[place][0] = number
        case (false, false): ranges.insert([number, number], at: place)
        }
    }

    /// How many ranges begin at or before the number.
    private func place(of number: UInt64) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle][0] <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package init(from decoder: any Decoder) throws {
        ranges = try [[UInt64]](from: decoder)
        let ends = ranges.flatMap { $0 }
        guard ranges.allSatisfy({ $0.count == 2 }), zip(ends, ends.dropFirst()).allSatisfy({ $0 <= $1 }),
            !ends.contains(.max)
        else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no ranges"))
        }
    }

    package func encode(to encoder: any Encoder) throws { try ranges.encode(to: encoder) }
}
