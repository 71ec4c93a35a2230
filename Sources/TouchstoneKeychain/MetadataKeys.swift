import Crypto
import Foundation
import TouchstoneCore
import TouchstoneEnclaveInterface

/// The metadata keys of the classes that are open now (KC-10, KC-15).
struct MetadataKeys {
    var open: [Accessibility: MetadataKey] = [:]
    var destroyed: Set<Accessibility> = []
    /// How often the class keys were made anew.
    var generation = 0

    init() {}

    init(_ reply: EnclaveInterface.GetMetadataKeys.Reply) {
        for (code, key) in reply.keys {
            guard let accessibility = Accessibility(rawValue: code) else { continue }
            open[accessibility] = MetadataKey(
                current: SymmetricKey(data: key),
                earlier: (reply.earlier?[code] ?? []).map { SymmetricKey(data: $0) })
        }
        destroyed = Set(reply.destroyed.compactMap(Accessibility.init))
        generation = reply.generation ?? 0
    }
}

/// The metadata key of a class, and those that it had before its passcode was changed.
struct MetadataKey {
    var current: SymmetricKey
    /// The newest first.
    var earlier: [SymmetricKey] = []
}
