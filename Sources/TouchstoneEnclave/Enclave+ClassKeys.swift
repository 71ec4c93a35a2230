import Crypto
import Foundation
import TouchstoneCore
import TouchstoneMemory

/// Class keys are made anew when the passcode changes: who has an old state, its passcode and the root key opens nothing that was written
/// since.
///
/// Earlier keys are kept for what they wrapped, sealed under the current key of their class: they are there where that is, and are
/// destroyed with it (KC-20, KC-23). None is dropped while its class is there: apps keep private keys' blobs where nobody can look for them.
extension Enclave {
    /// Which class keys wrap what is wrapped now: how often they were made anew.
    package var generation: UInt32 { state.generation ?? 0 }

    /// Makes class keys that take the place of `old`, which are those of every class there is to be.
    ///
    /// - Returns: `old` where there is no room for more.
    mutating func renew(_ old: ClassKeys) throws -> ClassKeys {
        var new = ClassKeys()
        var earlier: [String: Data] = [:]
        let isRenewed = generation < Limits.generations
        for protection in Accessibility.allCases {
            guard let key = old[protection] else { continue }
            guard isRenewed else {
                new[protection] = key
                earlier[protection.rawValue] = state.earlierClassKeys?[protection.rawValue]
                continue
            }
            let fresh = random.secret(count: ClassKeys.keyBytes)
            let kept = try earlierKeys(of: protection, under: key).map { key.joined(with: $0) } ?? key
            earlier[protection.rawValue] = try random.seal(
                kept, under: fresh, context: Self.earlierContext(protection))
            new[protection] = fresh
        }
        state.earlierClassKeys = earlier
        if isRenewed { state.generation = generation + 1 }
        state.version = EnclaveState.currentVersion
        return new
    }

    /// The class key of this generation; nil where the class's is not open, or has none of this number.
    func classKey(of protection: Accessibility, generation wanted: UInt32) -> SymmetricKey? {
        guard let key = keys[protection] else { return nil }
        if wanted == generation { return key.symmetricKey }
        guard wanted < generation, let earlier = try? earlierKeys(of: protection, under: key) else { return nil }
        let place = Int(generation - 1 - wanted) * ClassKeys.keyBytes
        guard place + ClassKeys.keyBytes <= earlier.count else { return nil }
        return unsafe earlier.withUnsafeBytes { bytes in
            let key = unsafe bytes[place..<(place + ClassKeys.keyBytes)]
            return unsafe SymmetricKey(data: UnsafeRawBufferPointer(rebasing: key))
        }
    }

    /// The metadata keys of the class's earlier generations, the newest first.
    func earlierMetadataKeys(of protection: Accessibility) -> [Data] {
        guard let key = keys[protection], let earlier = try? earlierKeys(of: protection, under: key) else { return [] }
        return unsafe earlier.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: ClassKeys.keyBytes).map { place in
                let key = unsafe bytes[place..<(place + ClassKeys.keyBytes)]
                let derived = unsafe SymmetricKey(data: UnsafeRawBufferPointer(rebasing: key)).derive("metadata")
                return unsafe derived.withUnsafeBytes { unsafe Data($0) }
            }
        }
    }

    /// One after the other, the newest first; nil where there are none.
    private func earlierKeys(of protection: Accessibility, under key: SecretBytes) throws -> SecretBytes? {
        guard let sealed = state.earlierClassKeys?[protection.rawValue] else { return nil }
        guard let keys = key.open(sealed, context: Self.earlierContext(protection)),
            keys.count.isMultiple(of: ClassKeys.keyBytes)
        else { throw EnclaveStateError.corrupt }
        return keys
    }

    private static func earlierContext(_ protection: Accessibility) -> Data {
        Data("io.touchstone earlier class keys \(protection.rawValue)".utf8)
    }
}
