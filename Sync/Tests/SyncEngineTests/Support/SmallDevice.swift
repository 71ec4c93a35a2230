import Foundation
import Synchronization

@testable import SyncEngine

/// A device that keeps whatever it is given: what it does with records is tested with the daemons, by sync-program.
final class SmallDevice: SyncDevice {
    struct State {
        /// Own objects and names of dropped ones, in the order of their making.
        var made: [Made] = []
        var taken: [ObjectName: Data] = [:]
        var links: [Data] = []
        /// The newest link is only proposed.
        var proposes = false
        var verdicts: [ObjectName: Verdict] = [:]
        /// Calls of `add`, with how many objects each had.
        var given: [Int] = []
        /// How many more calls succeed; nil: all.
        var answers: Int?
    }

    enum Made {
        case object(SealedObject)
        case dropped(ObjectName)
    }

    let member: String
    let state = Mutex(State())

    /// - Parameters:
    ///   - digit: A hexadecimal digit, 64 of which are its identifier.
    ///   - links: Of its chain.
    init(_ digit: Character, links: [Data] = [link(0)]) {
        member = String(repeating: digit, count: 64)
        state.withLock { $0.links = links }
    }

    static func link(_ number: Int, _ by: String = "") -> Data { Data("link \(number) \(by)".utf8) }

    func write(_ kind: ObjectKind = .record, _ counter: Int64, _ byte: UInt8 = 1, size: Int = 256) {
        let bytes = kind == .record ? Data(repeating: byte, count: size) : Data([byte, 2, 3])
        let object = SealedObject(ObjectName(kind: kind, member: member, counter: counter), bytes)
        state.withLock {
            $0.made.append(.object(object))
            $0.taken[object.name] = bytes
        }
    }

    func drop(_ kind: ObjectKind, _ counter: Int64) {
        state.withLock { $0.made.append(.dropped(ObjectName(kind: kind, member: member, counter: counter))) }
    }

    var taken: [ObjectName: Data] { state.withLock { $0.taken } }
    var links: [Data] { state.withLock { $0.links } }

    private func begin() throws(DeviceFailure) {
        let isThere = state.withLock { state in
            guard let left = state.answers else { return true }
            state.answers = left - 1
            return left > 0
        }
        guard isThere else { throw .unavailable("it is off") }
    }

    func objects(after: Int64?) async throws(DeviceFailure) -> OwnObjects {
        try begin()
        return state.withLock { state in
            let from = Int(after ?? 0)
            let page = state.made[from...].prefix(3)
            return OwnObjects(
                objects: page.compactMap { if case .object(let object) = $0 { object } else { nil } },
                dropped: page.compactMap { if case .dropped(let name) = $0 { name } else { nil } },
                next: Int64(from + page.count))
        }
    }

    func add(_ objects: [SealedObject]) async throws(DeviceFailure) -> [Verdict] {
        try begin()
        return state.withLock { state in
            state.given.append(objects.count)
            return objects.map { object in
                let verdict = state.verdicts[object.name] ?? .taken
                if verdict == .taken { state.taken[object.name] = object.bytes }
                return verdict
            }
        }
    }

    func links(after: Int?) async throws(DeviceFailure) -> [Data] {
        try begin()
        return state.withLock { Array($0.links.dropFirst((after ?? -1) + 1).prefix(100)) }
    }

    func addLinks(_ links: [Data]) async throws(DeviceFailure) -> Int {
        try begin()
        let result: Result<Int, DeviceFailure> = state.withLock { state in
            for link in links {
                if state.links.contains(link) { continue }
                if state.proposes { state.links.removeLast() }
                state.proposes = false
                guard link.starts(with: Data("link \(state.links.count) ".utf8)) else {
                    return .failure(.refused("forked"))
                }
                state.links.append(link)
            }
            state.proposes = false
            return .success(state.links.count)
        }
        return try result.get()
    }
}
