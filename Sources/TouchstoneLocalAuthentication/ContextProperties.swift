internal import Foundation
internal import Synchronization

/// What an `LAContext` has been told and has learned; outlives it while it is being evaluated.
final class ContextProperties: Sendable {
    struct Values: Sendable {
        var fallbackTitle: String?
        var cancelTitle: String?
        var reason = ""
        var reuseDuration: TimeInterval = 0
        var interactionNotAllowed = false
        var maximumFailures: Int?
        var biometryType: LABiometryType?
        var domainState: Data?
    }

    private let values = Mutex(Values())

    var current: Values { values.withLock { $0 } }

    func change(_ body: (inout Values) -> Void) {
        values.withLock { body(&$0) }
    }
}
