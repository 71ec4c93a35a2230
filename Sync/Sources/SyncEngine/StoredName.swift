package import SyncStores

/// What a name of a store stands for.
///
/// Records and heads of a member have two writers, because each of them counts for itself, and a store wants the numbers of a writer in
/// their order. A member has 64 digits, as many as a writer may have. So it is written with 52 digits of base 32, behind a letter.
package enum StoredName: Hashable, Sendable {
    case object(ObjectName)
    /// A link of the chain; the first one has number 0.
    case link(Int)

    private static let chain = "chain"
    private static let letters: [(kind: ObjectKind, letter: Character)] = [(.record, "r"), (.head, "h")]

    /// Nil for a name that no program of ours gives.
    package init?(_ name: RecordName) {
        if name.writer == Self.chain, name.label == "link", let number = Int(exactly: name.number) {
            self = .link(number)
            return
        }
        guard let kind = Self.letters.first(where: { $0.letter == name.writer.first })?.kind,
            name.label == kind.rawValue, let member = Base32.hexadecimal(name.writer.dropFirst()),
            let counter = Int64(exactly: name.number), counter > 0
        else { return nil }
        self = .object(ObjectName(kind: kind, member: member, counter: counter))
    }

    /// As a store has it.
    ///
    /// - Throws: `invalid` for a member that is not 64 hexadecimal digits, or a counter below 1.
    package var record: RecordName {
        get throws(StoreError) {
            switch self {
            case .link(let number):
                return try RecordName(writer: Self.chain, number: UInt64(max(number, 0)), label: "link")
            case .object(let name):
                guard let member = Base32.text(name.member), name.counter > 0,
                    let letter = Self.letters.first(where: { $0.kind == name.kind })?.letter
                else { throw .invalid("the device gave an object a name that no member has") }
                return try RecordName(
                    writer: "\(letter)\(member)", number: UInt64(name.counter), label: name.kind.rawValue)
            }
        }
    }
}

/// 256 bits as 52 of the characters a–z and 2–7, most significant first, and back.
private enum Base32 {
    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567")
    /// Of 52 digits, 260 bits: the last four are zero.
    private static let spare = 4

    static func text(_ hexadecimal: String) -> String? {
        guard hexadecimal.utf8.count == 64 else { return nil }
        var bits: [UInt8] = []
        for digit in hexadecimal {
            guard let value = digit.hexDigitValue, !digit.isUppercase else { return nil }
            bits += (0..<4).reversed().map { UInt8(value >> $0 & 1) }
        }
        bits += [UInt8](repeating: 0, count: spare)
        return String(
            stride(from: 0, to: bits.count, by: 5).map { start in
                digits[bits[start..<start + 5].reduce(0) { $0 << 1 | Int($1) }]
            })
    }

    static func hexadecimal(_ text: some StringProtocol) -> String? {
        guard text.utf8.count == 52 else { return nil }
        var bits: [UInt8] = []
        for character in text {
            guard let value = digits.firstIndex(of: character) else { return nil }
            bits += (0..<5).reversed().map { UInt8(value >> $0 & 1) }
        }
        guard bits.suffix(spare).allSatisfy({ $0 == 0 }) else { return nil }
        return stride(from: 0, to: 256, by: 4).map { start in
            String(bits[start..<start + 4].reduce(0) { $0 << 1 | Int($1) }, radix: 16)
        }.joined()
    }
}
