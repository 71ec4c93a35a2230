package import Foundation

/// What a device gives to the stores and takes from them: the part of `io.touchstone.Sync` that carries sealed bytes (SY-32).
///
/// docs/interfaces/io.touchstone.Sync.md says what each method promises.
package protocol SyncDevice: Sendable {
    /// `ListObjects`.
    func objects(after: Int64?) async throws(DeviceFailure) -> OwnObjects
    /// `AddObjects`: one verdict for each.
    func add(_ objects: [SealedObject]) async throws(DeviceFailure) -> [Verdict]
    /// `ListLinks`: at most 100; none if there are no more.
    func links(after: Int?) async throws(DeviceFailure) -> [Data]
    /// `AddLinks`: how many links the chain has then.
    func addLinks(_ links: [Data]) async throws(DeviceFailure) -> Int
}

/// What an object is.
package enum ObjectKind: String, Codable, Sendable, CaseIterable {
    case record, head
}

/// The name of an object: of a member, who never gives it to other bytes.
package struct ObjectName: Codable, Hashable, Sendable {
    package var kind: ObjectKind
    /// 64 hexadecimal digits, in small letters.
    package var member: String
    /// From 1 on.
    package var counter: Int64

    package init(kind: ObjectKind, member: String, counter: Int64) {
        (self.kind, self.member, self.counter) = (kind, member, counter)
    }
}

/// An object with its bytes.
package struct SealedObject: Codable, Hashable, Sendable {
    package var kind: ObjectKind
    package var member: String
    package var counter: Int64
    package var bytes: Data

    package init(_ name: ObjectName, _ bytes: Data) {
        (kind, member, counter, self.bytes) = (name.kind, name.member, name.counter, bytes)
    }

    package var name: ObjectName { ObjectName(kind: kind, member: member, counter: counter) }
}

/// A device's own objects, and where to go on.
package struct OwnObjects: Codable, Sendable {
    package var objects: [SealedObject]
    package var dropped: [ObjectName]
    package var next: Int64

    package init(objects: [SealedObject], dropped: [ObjectName], next: Int64) {
        (self.objects, self.dropped, self.next) = (objects, dropped, next)
    }
}

/// What a device says of an object.
package enum Verdict: String, Codable, Sendable {
    case taken, waiting, repeated, forged, notMember
}

/// Why a device did not do what it was asked.
package enum DeviceFailure: Error, Equatable, CustomStringConvertible {
    /// It does not answer, or its disk does not: try again later.
    case unavailable(String)
    /// It is in no circle, or is a member no more.
    case noCircle
    /// The reason of `Refused`.
    case refused(String)

    package var description: String {
        switch self {
        case .unavailable(let text): text
        case .noCircle: "this device is in no circle: 'touchstone sync join' or 'touchstone sync create' changes that"
        case .refused("forked"): "the store has another circle than this device"
        case .refused("rolledBack"): "the store gave back an older state of the circle"
        case .refused("invalidLink"): "the store has a change of the circle that no member signed"
        case .refused("notListed"):
            "root has not listed touchstone-sync in /etc/touchstone/owner-programs.d, so the device does not serve it: put its path "
                + "into a file NAME.conf there, as root"
        case .refused(let reason): "the device refuses it: \(reason)"
        }
    }
}
