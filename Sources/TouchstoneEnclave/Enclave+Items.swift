import Crypto
import Foundation
import TouchstoneCore
import TouchstoneMemory

/// A wrapped item key, as the keychain keeps it: version (1 byte), class (1 byte), then AES-256-GCM under the class key of
/// key (32) ‖ flags (8, little-endian) ‖ enrolment hash (32, zero where the control does not want it).
///
/// The access group and the item's binding are authenticated with it; the control itself is inside, so that neither can be changed (AC-10).
private enum WrappedKey {
    static let version: UInt8 = 1
    static let plainBytes = 32 + 8 + 32

    static func context(_ protection: UInt8, _ binding: EnclaveInterface.ItemBinding) -> Data {
        let group = Data(binding.accessGroup.utf8)
        return Data("io.touchstone item key \(version) \(protection) \(group.count) ".utf8) + group + binding.item
    }
}

extension Enclave {
    func lookupKey() -> SecretBytes { deviceKey.derive("lookup") }

    /// The metadata keys that can be had now, and the classes that are destroyed.
    func metadataKeys() -> EnclaveInterface.GetMetadataKeys.Reply {
        var reply = EnclaveInterface.GetMetadataKeys.Reply(keys: [:], destroyed: [])
        for protection in Accessibility.allCases {
            if let key = keys[protection] {
                reply.keys[protection.rawValue] = key.derive("metadata").publicBytes
            } else if !isPasscodeSet {
                reply.destroyed.append(protection.rawValue)
            }
        }
        return reply
    }

    /// Wraps an item's key and binds it to what is enrolled now; asks nobody (AC-10, AC-12, AC-15, KC-24).
    func wrap(_ request: EnclaveInterface.WrapKey.Parameters, now: Double) throws -> Data {
        let control = request.accessControl
        guard request.key.count == 32 else { throw EnclaveInterface.NotWrapped(.param) }
        guard !control.flags.contains(.applicationPassword) else { throw EnclaveInterface.NotWrapped(.unimplemented) }
        // AC-20: with it there is no decrypt entry, so that what is wrapped could never be read.
        guard !control.flags.contains(.privateKeyUsage) else { throw EnclaveInterface.NotWrapped(.param) }
        let proofs = control.requirement.proofs
        if proofs.contains(.companion), !control.requirement.anyOne || proofs == [.companion] {
            throw EnclaveInterface.NotWrapped(.authFailed)
        }
        for proof in control.requirement.proofs {
            if !isPasscodeSet { throw EnclaveInterface.NotWrapped(.authFailed) }
            if [.biometryAny, .biometryCurrentSet].contains(proof), state.biometryType == .none || !isEnrolled {
                throw EnclaveInterface.NotWrapped(.authFailed)
            }
        }
        guard let classKey = keys[control.protection], let number = control.protection.number else {
            let isMissing = control.protection == .whenPasscodeSetThisDeviceOnly && !isPasscodeSet
            throw EnclaveInterface.NotWrapped(isMissing ? .authFailed : .interactionNotAllowed)
        }
        let wantsSet = control.requirement.proofs.contains(.biometryCurrentSet)
        var plain = Data(request.key)
        defer { plain.resetBytes(in: 0..<plain.count) }
        for shift in stride(from: 0, to: 64, by: 8) {
            plain.append(UInt8(truncatingIfNeeded: control.flags.rawValue >> UInt64(shift)))
        }
        plain.append(wantsSet ? state.database.hash : Data(count: 32))
        let sealed = try classKey.seal(SecretBytes(plain), context: WrappedKey.context(number, request.binding))
        return Data([WrappedKey.version, number]) + sealed
    }

    /// Opens one item's key for an app, if everything that the item asks for is there.
    func unwrap(_ item: EnclaveInterface.WrappedItem, app: String, context: String?) -> EnclaveInterface.OpenedItem {
        let blob = item.wrappedKey
        guard blob.count > 2, blob[blob.startIndex] == WrappedKey.version,
            let protection = Accessibility(number: blob[blob.startIndex + 1])
        else { return .init(state: .gone) }
        guard let classKey = keys[protection] else {
            // Without a passcode no class is merely locked: P is destroyed (KC-23).
            return .init(state: isPasscodeSet ? .locked : .gone)
        }
        let number = blob[blob.startIndex + 1]
        guard let plain = classKey.open(blob.dropFirst(2), context: WrappedKey.context(number, item.binding)),
            plain.count == WrappedKey.plainBytes
        else { return .init(state: .gone) }
        return unsafe plain.withUnsafeBytes { bytes in
            let flags = (0..<8).reduce(UInt64(0)) { unsafe $0 | UInt64(bytes[32 + $1]) << UInt64(8 * $1) }
            guard let control = try? AccessControl(protection: protection, flags: .init(rawValue: flags)) else {
                return .init(state: .gone)
            }
            let requirement = control.requirement
            // AC-50, AC-51: bound to an enrolment that is no more.
            if requirement.proofs.contains(.biometryCurrentSet), unsafe Data(bytes[40..<72]) != state.database.hash {
                return .init(state: .gone)
            }
            guard
                requirement.proofs.isEmpty
                    || isProven(requirement, to: context, app: app, group: item.binding.accessGroup)
            else {
                return .init(state: .authenticationNeeded)
            }
            return unsafe .init(state: .open, key: Data(bytes[0..<32]))
        }
    }

    /// A proof opens what is of the groups of the app it was given to, and nothing else.
    private func isProven(_ requirement: Requirement, to identifier: String?, app: String, group: String) -> Bool {
        guard let identifier, let context = contexts[identifier], context.app == app,
            context.accessGroups.contains(group)
        else { return false }
        return isMet(requirement, by: context.proven)
    }
}

extension Accessibility {
    /// The class as one byte (KC-13).
    fileprivate static let numbers: [Accessibility: UInt8] = [
        .whenUnlocked: 6, .afterFirstUnlock: 7, .always: 8, .whenUnlockedThisDeviceOnly: 9,
        .afterFirstUnlockThisDeviceOnly: 10, .alwaysThisDeviceOnly: 11, .whenPasscodeSetThisDeviceOnly: 12,
    ]

    fileprivate var number: UInt8? { Self.numbers[self] }

    fileprivate init?(number: UInt8) {
        guard let found = Self.numbers.first(where: { $0.value == number }) else { return nil }
        self = found.key
    }
}
