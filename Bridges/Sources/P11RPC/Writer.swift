/// Writes the values of p11-kit's wire format.
struct Writer {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func word(_ value: UInt32) {
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func number(_ value: UInt64) {
        word(UInt32(truncatingIfNeeded: value >> 32))
        word(UInt32(truncatingIfNeeded: value))
    }

    mutating func string(_ value: some Collection<UInt8>) {
        word(UInt32(clamping: value.count))
        bytes += value
    }

    /// `ay`.
    mutating func list(_ value: [UInt8]) {
        byte(1)
        string(value)
    }

    /// `ay` or `au` of a caller without room: how long the list is.
    mutating func length(_ count: Int) {
        byte(0)
        word(UInt32(clamping: count))
    }

    /// `au`.
    mutating func list(_ value: [UInt64]) {
        byte(1)
        word(UInt32(clamping: value.count))
        for number in value { self.number(number) }
    }

    /// `aA`.
    mutating func attributes(_ list: [Attribute]) {
        word(UInt32(clamping: list.count))
        for attribute in list {
            word(attribute.kind.rawValue)
            guard let value = attribute.value else {
                byte(0)
                continue
            }
            byte(1)
            word(UInt32(clamping: value.length))
            switch value {
            case .flag(let flag): byte(flag ? 1 : 0)
            case .number(let number): self.number(number)
            case .bytes(let bytes): string(bytes)
            case .attributes(let inner): attributes(inner)
            case .mechanisms(let mechanisms):
                word(UInt32(clamping: mechanisms.count))
                for mechanism in mechanisms { number(mechanism) }
            }
        }
    }
}
