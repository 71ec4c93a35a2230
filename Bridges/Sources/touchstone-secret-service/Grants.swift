import BridgeCore
import SecretServiceModel
import Synchronization

/// Who may read what without a question: each grant is a copy of an item's key (SS-20).
struct Grants {
    private struct Lapsing {
        var key: SymmetricKeyBytes
        var until: ContinuousClock.Instant
    }

    private enum Limits {
        /// Of programs that do what their caller wants (BR-13).
        static let time = Duration.seconds(15 * 60)
        static let lapsing = 4096
    }

    /// The programs of each item whose copies the keychain keeps.
    var kept: [String: Set<String>] = [:]
    /// Copies that were read since the device was unlocked.
    private var read: [String: [String: SymmetricKeyBytes]] = [:]
    private var lapsing: [Grantee: [String: Lapsing]] = [:]

    /// Whether a program may read an item.
    func has(_ item: String, _ grantee: Grantee) -> Bool {
        if let row = grantee.row, kept[item]?.contains(row) == true { return true }
        return lapsingKey(of: item, for: grantee) != nil
    }

    private func lapsingKey(of item: String, for grantee: Grantee) -> SymmetricKeyBytes? {
        guard let grant = lapsing[grantee]?[item], grant.until > .now else { return nil }
        if case .session(let session) = grantee, !session.anchor.isThere { return nil }
        return grant.key
    }

    /// The copy of a key, if it is in memory.
    func key(of item: String, for grantee: Grantee) -> SymmetricKeyBytes? {
        if let row = grantee.row, let key = read[item]?[row] { return key }
        return lapsingKey(of: item, for: grantee)
    }

    /// Notes a copy: of one that is kept, or until it lapses.
    mutating func put(_ key: SymmetricKeyBytes, of item: String, for grantee: Grantee, isKept: Bool = true) {
        if isKept, let row = grantee.row {
            kept[item, default: []].insert(row)
            read[item, default: [:]][row] = key
        } else {
            let now = ContinuousClock.now
            if lapsing.values.reduce(0, { $0 + $1.count }) >= Limits.lapsing {
                lapsing = lapsing.mapValues { $0.filter { $0.value.until > now } }.filter { !$0.value.isEmpty }
            }
            lapsing[grantee, default: [:]][item] = Lapsing(key: key, until: now + Limits.time)
        }
    }

    /// Forgets an item that is gone.
    mutating func remove(_ item: String) {
        kept[item] = nil
        read[item] = nil
        for grantee in lapsing.keys { lapsing[grantee]?[item] = nil }
    }

    /// Forgets that a program was granted an item (BR-33).
    mutating func revoke(_ item: String, _ row: String) {
        kept[item]?.remove(row)
        read[item]?[row] = nil
    }

    /// Forgets what was granted for a time (SS-40).
    mutating func drop(_ grantee: Grantee) { lapsing[grantee] = nil }

    /// Forgets every copy: the device is locked.
    mutating func lock() {
        read = [:]
        lapsing = [:]
    }
}

/// What is asked: the same question of the same program is asked once (BR-26).
struct Asking: Hashable {
    var grantee: Grantee
    var items: Set<String>
    var purpose: Purpose
}

/// What for: the verb of the prompt.
enum Purpose: String, Sendable {
    case read
    case store = "store over"
    case delete
    case change
}
