import Crypto
import Foundation
import TouchstoneCore
import TouchstoneMemory

/// One version of an item as the enclave knows it: the group that it is in, and a number that nobody else can compute.
struct ItemTag: Hashable {
    /// The first byte of the item's identifier.
    var group: UInt8
    var number: UInt128
}

/// Computes items' tags: HMAC-SHA256 of class, identifier and version under a key of this device, of which 128 bits count.
package struct ItemTags {
    /// Bytes of an item's binding: the class, then the identifier and the version of the row, 16 each.
    package static let itemBytes = classBytes + 32
    package static let classBytes = 4

    /// Has taken the key, and nothing else yet.
    private let start: HMAC<SHA256>

    init(_ key: SecretBytes) { start = HMAC<SHA256>(key: key.symmetricKey) }

    /// nil for what is no item's binding.
    func tag(of item: Data) -> ItemTag? {
        guard item.count == Self.itemBytes else { return nil }
        var code = start
        code.update(data: item)
        let number = code.finalize().prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        return ItemTag(group: item[item.startIndex + Self.classBytes], number: number)
    }

    /// Of bindings, one after the other; nil where the bytes are something else.
    func tags(of items: Data) -> [ItemTag]? {
        let length = Self.itemBytes
        guard items.count.isMultiple(of: length) else { return nil }
        return stride(from: items.startIndex, to: items.endIndex, by: length).compactMap {
            tag(of: items[$0..<$0 + length])
        }
    }
}

/// Which items with an access control there are, in a few bytes: of each group of items the sum of its tags.
///
/// Whoever does not know the tags finds no other items with the same sum. Part of the kept state, so that an older row that is put back, or a
/// row that is taken away, does not fit any more.
package struct RecordedItems: Codable, Equatable {
    /// An app changes items as fast as it likes, and a TPM counts slowly: such changes raise the state's revision this seldom.
    static let secondsBetweenRevisions = 60.0
    /// Of the spare files, those that deletions on a full disk leave to guesses at the passcode.
    package static let sparesForPasscodes = 8

    /// Modulo 2^128.
    private struct Group: Equatable {
        var sum: UInt128 = 0
        /// What it was before changes of which nobody has said yet that they are on the disk, oldest first.
        var others: [UInt128] = []
    }

    static let groups = 256
    /// Of one group; only changes that fail one after the other need more than one.
    private static let maximumOthers = 4
    private static let numberBytes = 16

    private var groups: [UInt8: Group] = [:]

    init() {}

    func sum(of group: UInt8) -> UInt128 { groups[group]?.sum ?? 0 }

    /// Before a change of a group: until it is settled, the group may be as it is now.
    mutating func begin(_ group: UInt8) {
        var changed = groups[group] ?? Group()
        changed.others.removeAll { $0 == changed.sum }
        changed.others = changed.others.suffix(Self.maximumOthers - 1) + [changed.sum]
        groups[group] = changed
    }

    mutating func add(_ tag: ItemTag) { groups[tag.group, default: Group()].sum &+= tag.number }
    mutating func remove(_ tag: ItemTag) { groups[tag.group, default: Group()].sum &-= tag.number }

    /// Every change is on the disk: no group may be as it was before.
    mutating func settle() {
        for (number, group) in groups where !group.others.isEmpty {
            groups[number] = group.sum == 0 ? nil : Group(sum: group.sum)
        }
    }

    /// Takes what a group was found to be, if it may be that.
    mutating func settle(_ group: UInt8, at sum: UInt128) -> Bool {
        guard var found = groups[group], found.sum != sum else { return self.sum(of: group) == sum }
        guard let place = found.others.firstIndex(of: sum) else { return false }
        // The other way round it may still be: a write that failed can come to light at the next boot.
        (found.sum, found.others[place]) = (sum, found.sum)
        groups[group] = found
        return true
    }

    /// Whether a group may be as it was found.
    func canBe(_ group: UInt8, at sum: UInt128) -> Bool {
        self.sum(of: group) == sum || groups[group]?.others.contains(sum) == true
    }

    /// Takes what a group is found to be, whatever it was.
    mutating func accept(_ group: UInt8, at sum: UInt128) {
        let difference = sum &- self.sum(of: group)
        guard difference != 0 else { return }
        var accepted = groups[group] ?? Group()
        accepted.sum = sum
        // A change under way may fail yet. Then the group is as it was before the change, with the same difference.
        accepted.others = accepted.others.map { $0 &+ difference }
        groups[group] = accepted
    }

    // MARK: bytes

    /// For each group that is not empty: its number, how many sums follow the first (a byte each), the sums (16 bytes each, big-endian).
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        var rest = try container.decode(Data.self)[...]
        while let number = rest.popFirst(), let count = rest.popFirst() {
            let sums = (0...Int(count)).map { _ in
                defer { rest = rest.dropFirst(Self.numberBytes) }
                return rest.prefix(Self.numberBytes).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
            }
            groups[number] = Group(sum: sums[0], others: Array(sums.dropFirst()))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var bytes = Data()
        for (number, group) in groups.sorted(by: { $0.key < $1.key }) {
            bytes.append(contentsOf: [number, UInt8(group.others.count)])
            for sum in [group.sum] + group.others {
                unsafe withUnsafeBytes(of: sum.bigEndian) { unsafe bytes.append(contentsOf: $0) }
            }
        }
        var container = encoder.singleValueContainer()
        try container.encode(bytes)
    }
}

/// The items with an access control that the keychain has shown: what is there, which has to fit what was recorded.
struct ShownItems {
    private struct Group {
        var tags: Set<UInt128> = []
        var sum: UInt128 = 0
    }

    /// So many are remembered at most: whoever tells them may lie.
    static let maximum = 1 << 20

    private var groups = [Group](repeating: Group(), count: RecordedItems.groups)
    private(set) var count = 0

    func sum(of group: UInt8) -> UInt128 { groups[Int(group)].sum }

    func contains(_ tag: ItemTag) -> Bool { groups[Int(tag.group)].tags.contains(tag.number) }

    mutating func insert(_ tag: ItemTag) {
        guard groups[Int(tag.group)].tags.insert(tag.number).inserted else { return }
        count += 1
        groups[Int(tag.group)].sum &+= tag.number
    }

    /// - Returns: Whether it was there.
    mutating func remove(_ tag: ItemTag) -> Bool {
        guard groups[Int(tag.group)].tags.remove(tag.number) != nil else { return false }
        count -= 1
        groups[Int(tag.group)].sum &-= tag.number
        return true
    }
}

/// A change of the keychain that is recorded, and not known to be on the disk.
struct ItemsUnderWay {
    /// Removed by it: whoever has just read them may open them still.
    var leaving: Set<UInt128> = []
    /// Their keys were wrapped, and they are not recorded yet: a change reads what it has written itself.
    var wrapped: Set<UInt128> = []
    /// Bindings of a change, of which more are to come.
    var removed = Data()
    var added = Data()

    /// Keys that are wrapped and come to nothing are forgotten with the next change; so many are remembered.
    static let maximumWrapped = 16384
}
