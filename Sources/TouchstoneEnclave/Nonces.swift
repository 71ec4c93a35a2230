import Foundation
import TouchstoneCore

/// Nonces given out and not yet used, each good on the connection alone that asked for it.
///
/// So nobody uses up another's by asking for many.
package struct Nonces {
    enum Limits {
        /// Of one connection; the oldest goes.
        static let perConnection = 8
        /// Twice as many as touchstoned takes, which tells when one has ended; of more the one goes that has had no new nonce for longest.
        static let connections = 8192
    }

    private struct Given {
        /// Oldest first.
        var nonces: [Data] = []
        var last: UInt64 = 0
    }

    private var byConnection: [Int: Given] = [:]
    private var count: UInt64 = 0

    var isEmpty: Bool { byConnection.isEmpty }

    func of(_ connection: Int) -> [Data] { byConnection[connection]?.nonces ?? [] }

    mutating func add(_ nonce: Data, of connection: Int) {
        if byConnection[connection] == nil, byConnection.count >= Limits.connections,
            let idle = byConnection.min(by: { $0.value.last < $1.value.last })?.key
        {
            byConnection[idle] = nil
        }
        count += 1
        var given = byConnection[connection] ?? Given()
        given.nonces.append(nonce)
        if given.nonces.count > Limits.perConnection { given.nonces.removeFirst() }
        given.last = count
        byConnection[connection] = given
    }

    mutating func remove(_ nonce: Data, of connection: Int) {
        byConnection[connection]?.nonces.removeAll { $0 == nonce }
        if byConnection[connection]?.nonces.isEmpty == true { byConnection[connection] = nil }
    }

    /// The connection has ended.
    package mutating func removeAll(of connection: Int) { byConnection[connection] = nil }
}
