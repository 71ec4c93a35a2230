import Crypto
package import Foundation
package import TouchstoneCore
package import TouchstoneLog
package import TouchstoneMemory

/// A wrapped item key, as the keychain keeps it: version (1 byte), class (1 byte), generation of the class key (4 bytes, little-endian; only
/// from version 3 on, else 0), then AES-256-GCM under the class key of key (32) ‖ flags (8, little-endian) ‖ enrolment hash (32, zero where
/// the control does not want it, or nobody is enrolled).
///
/// Versions 2 and 4 are of a control that wants an application password: instead of the key stands the key sealed under what the password
/// gives this item (60 bytes), so that without the password there is nothing to open (AC-04).
///
/// The access group and the item's binding are authenticated with it; the control itself is inside, so that neither can be changed (AC-10).
private struct WrappedKey {
    static let keyBytes = 32

    let isWithPassword: Bool
    let protection: Accessibility
    let generation: UInt32

    init(_ protection: Accessibility, isWithPassword: Bool, generation: UInt32) {
        self.protection = protection
        self.isWithPassword = isWithPassword
        self.generation = generation
    }

    /// What a wrapped key says of itself, and what it is followed by; nil if it is not a wrapped key.
    static func read(_ blob: Data) -> (form: WrappedKey, box: Data)? {
        var rest = blob[...]
        guard let version = rest.popFirst(), (1...4).contains(version), let number = rest.popFirst(),
            let protection = Accessibility(number: number)
        else { return nil }
        var generation: UInt32 = 0
        if version > 2 {
            guard rest.count > 4 else { return nil }
            generation = rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
        }
        let form = WrappedKey(protection, isWithPassword: version.isMultiple(of: 2), generation: generation)
        return form.version == version ? (form, rest) : nil
    }

    /// As it was before there were generations, while there is only the first.
    private var version: UInt8 { (isWithPassword ? 2 : 1) + (generation == 0 ? 0 : 2) }

    var head: Data {
        var head = Data([version, protection.number])
        if generation > 0 {
            for shift in stride(from: 0, to: 32, by: 8) { head.append(UInt8(truncatingIfNeeded: generation >> shift)) }
        }
        return head
    }

    /// Bytes of the key's place in the plaintext.
    var placeBytes: Int { isWithPassword ? 12 + Self.keyBytes + 16 : Self.keyBytes }

    /// What is authenticated with what the class key seals.
    func context(_ binding: Enclave.ItemBinding) -> Data {
        context(String(version), generation == 0 ? [] : [String(generation)], binding)
    }

    /// The same for what the password seals, which stays as it is when the class key is another.
    func passwordContext(_ binding: Enclave.ItemBinding) -> Data { context("2", [], binding) }

    private func context(_ version: String, _ more: [String], _ binding: Enclave.ItemBinding) -> Data {
        var context: [UInt8] = []
        context.reserveCapacity(256)
        for word in ["io.touchstone item key", version, String(protection.number)] + more
            + [String(binding.accessGroup.utf8.count)]
        {
            context += word.utf8
            context.append(UInt8(ascii: " "))
        }
        context += binding.accessGroup.utf8
        context += binding.item
        return Data(context)
    }
}

extension Enclave {
    package func lookupKey() -> SecretBytes { deviceKey.derive("lookup") }

    /// The metadata keys that can be had now, and the classes that are destroyed.
    package func metadataKeys() -> MetadataKeys {
        var found = MetadataKeys(isErasurePending: state.erasure == .pending, generation: Int(generation))
        // Nothing is added to the items of the device that was.
        guard !found.isErasurePending else { return found }
        for protection in Accessibility.allCases {
            if let key = keys[protection] {
                found.keys[protection] = key.derive("metadata").unprotectedCopy
                let earlier = earlierMetadataKeys(of: protection)
                if !earlier.isEmpty { found.earlier[protection] = earlier }
            } else if !isPasscodeSet {
                found.destroyed.append(protection)
            }
        }
        return found
    }

    /// Wraps an item's key and binds it to what is enrolled now; asks nobody (AC-10, AC-12, AC-15, KC-24).
    package func wrap(_ request: ItemKey, now: Double) throws -> Data {
        let control = request.accessControl
        guard request.key.count == WrappedKey.keyBytes else { throw NotWrapped(.param) }
        // AC-20: with it there is no decrypt entry, so that what is wrapped could never be read.
        guard !control.flags.contains(.privateKeyUsage) else { throw NotWrapped(.param) }
        let classKey: SecretBytes
        do throws(Refusal) {
            try checkCanBind(control)
            classKey = try self.classKey(of: control.protection)
        } catch {
            throw NotWrapped(error.status, error.cause)
        }
        let form = WrappedKey(
            control.protection, isWithPassword: control.flags.contains(.applicationPassword), generation: generation)
        var plain = Data(request.key)
        defer { plain.resetBytes(in: 0..<plain.count) }
        if form.isWithPassword {
            // AC-48: there is nothing to mix in, and nobody here to ask for it.
            guard let password = credential(of: request.context, app: request.app) else {
                throw NotWrapped(.authNeeded)
            }
            let sealed = try random.seal(
                SecretBytes(plain), under: password.itemKey(request.binding),
                context: form.passwordContext(request.binding))
            plain.resetBytes(in: 0..<plain.count)
            plain = sealed
        }
        for shift in stride(from: 0, to: 64, by: 8) {
            plain.append(UInt8(truncatingIfNeeded: control.flags.rawValue >> UInt64(shift)))
        }
        plain.append(enrolment(for: control))
        return try form.head
            + random.seal(plain, using: classKey.symmetricKey, authenticating: form.context(request.binding))
    }

    /// The same key, bound to the same, under the current class key; nil if it already is.
    private func rewrapped(_ unwrapped: Unwrapped, _ binding: Enclave.ItemBinding) -> Data? {
        let old = unwrapped.form
        guard old.generation != generation, let key = keys[old.protection] else { return nil }
        let form = WrappedKey(old.protection, isWithPassword: old.isWithPassword, generation: generation)
        let sealed = try? random.seal(
            unwrapped.plain, using: key.symmetricKey, authenticating: form.context(binding))
        return sealed.map { form.head + $0 }
    }

    /// Whether what a control asks for is there to be bound to.
    ///
    /// Of several ways, one that is there is enough.
    ///
    /// - Throws: `.authFailed` where nobody could ever give it (AC-15).
    func checkCanBind(_ control: AccessControl) throws(Refusal) {
        let requirement = control.requirement
        let proofs = requirement.proofs
        let obstacles = proofs.map(obstacle(toBinding:))
        let isRefused = requirement.anyOne ? !obstacles.contains(nil) : obstacles.contains { $0 != nil }
        if !proofs.isEmpty, isRefused, let cause = obstacles.compactMap({ $0 }).first {
            throw Refusal(.authFailed, cause, control)
        }
    }

    /// Why a proof could never be given as things are; nil where it could.
    private func obstacle(toBinding proof: Proof) -> RefusalCause? {
        if proof == .companion { return .noCompanion }
        if !isPasscodeSet { return .passcodeNotSet }
        guard [.biometryAny, .biometryCurrentSet].contains(proof) else { return nil }
        if state.biometryType == .none { return .noSensor }
        if !isEnrolled { return notEnrolled }
        return biometryMeets(proof) ? nil : .sensorTooWeak
    }

    /// The set of fingers that a control is bound to now: zero where it asks for none, and where there is none, which is never anybody's.
    func enrolment(for control: AccessControl) -> Data {
        guard control.requirement.proofs.contains(.biometryCurrentSet), obstacle(toBinding: .biometryCurrentSet) == nil
        else {
            return Data(count: 32)
        }
        return state.database.hash
    }

    /// What of a control can still be met, where it was bound to this enrolment; nil: nothing (AC-50, AC-51).
    ///
    /// Other fingers shut the way of `biometryCurrentSet` for good, and no other way beside it.
    func remaining(_ control: AccessControl, boundTo enrolment: some Collection<UInt8>) -> AccessControl? {
        let requirement = control.requirement
        guard requirement.proofs.contains(.biometryCurrentSet), !enrolment.elementsEqual(state.database.hash) else {
            return control
        }
        let others = requirement.proofs.filter { ![.biometryCurrentSet, .companion].contains($0) }
        guard requirement.anyOne, !others.isEmpty else { return nil }
        return try? AccessControl(
            protection: control.protection, flags: control.flags.subtracting(.biometryCurrentSet))
    }

    /// - Throws: `.interactionNotAllowed` where it is locked (KC-20), `.authFailed` where only a passcode would bring it (KC-24).
    func classKey(of protection: Accessibility) throws(Refusal) -> SecretBytes {
        if let key = keys[protection] { return key }
        throw protection == .whenPasscodeSetThisDeviceOnly && !isPasscodeSet
            ? Refusal(.authFailed, .passcodeNotSet)
            : Refusal(.interactionNotAllowed, RefusalCause(locked: protection))
    }

    /// An app's context, where what is proven to it opens what is of this group: a proof, or a password, opens what is of the groups of the app
    /// it was given to, and nothing else.
    func context(_ identifier: String?, of app: AppIdentifier, for accessGroup: AccessGroup) -> Context? {
        guard let context = contexts.context(identifier, of: app), context.accessGroups.contains(accessGroup)
        else { return nil }
        return context
    }

    /// What became of one wrapped key.
    package struct Opened: Sendable {
        package var state: KeyState
        package var key: Data?
        /// What the keychain is to keep in the place of the wrapped key, which is under an earlier class key; nil: that.
        package var rewrappedKey: Data?
        /// What is to be evaluated, where that is not all of the item's control.
        package var control: AccessControl?
        /// All was proven, and the context's application password is not this item's.
        package var isPasswordWrong = false
        package var isPasswordRight = false
        /// What the log says of it, where the item's access control wants the owner or a password.
        package var use: LogFact?

        init(_ state: KeyState, key: Data? = nil) {
            self.state = state
            self.key = key
        }
    }

    /// A wrapped key that its class key has opened; to be wiped.
    struct Unwrapped {
        var control: AccessControl
        fileprivate var plain: Data
        fileprivate var form: WrappedKey

        /// The set of fingers that its control was bound to.
        var enrolment: Data { plain.dropFirst(form.placeBytes + 8) }

        /// The key, or the key sealed under the application password.
        fileprivate var key: Data { Data(plain.prefix(form.placeBytes)) }

        mutating func wipe() { plain.resetBytes(in: 0..<plain.count) }
    }

    enum Unwrapping {
        case open(Unwrapped)
        /// The class key is not there.
        case closed(Accessibility)
        /// Not what was sealed.
        case gone
    }

    func unwrapped(_ item: WrappedItem) -> Unwrapping {
        guard let (form, sealed) = WrappedKey.read(item.wrappedKey) else { return .gone }
        let (protection, place) = (form.protection, form.placeBytes)
        guard keys[protection] != nil else { return .closed(protection) }
        guard let classKey = classKey(of: protection, generation: form.generation) else { return .gone }
        // In ordinary memory, wiped at the end: guarded pages would take longer to make than all the rest.
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            var plain = try? AES.GCM.open(box, using: classKey, authenticating: form.context(item.binding))
        else { return .gone }
        let flags = plain.dropFirst(place).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard plain.count == place + 8 + 32,
            let control = try? AccessControl(protection: protection, flags: .init(rawValue: flags)),
            control.flags.contains(.applicationPassword) == form.isWithPassword
        else {
            plain.resetBytes(in: 0..<plain.count)
            return .gone
        }
        return .open(Unwrapped(control: control, plain: plain, form: form))
    }

    /// Opens one item's key for an app, if everything that the item asks for is there.
    package func unwrap(_ item: WrappedItem, app: AppIdentifier, context: String?) -> Opened {
        switch self.unwrapped(item) {
        // Without a passcode no class is merely locked: P is destroyed (KC-23).
        case .closed(let protection):
            var closed = Opened(isPasscodeSet ? .locked : .gone)
            if isPasscodeSet {
                closed.use = LogFact(
                    refused: app, for: client(of: context, made: app), RefusalCause(locked: protection), nil)
            }
            return closed
        case .gone: return .init(.gone)
        case .open(var unwrapped):
            defer { unwrapped.wipe() }
            if unwrapped.control.isConstrained, !isRecorded(item.binding),
                remaining(unwrapped.control, boundTo: unwrapped.enrolment) != nil
            {
                return .init(.altered)
            }
            var opened = open(unwrapped, item.binding, app: app, context: context)
            // What nobody is told of yet is wrapped anew all the same: it was bound to the same.
            if opened.state != .gone { opened.rewrappedKey = rewrapped(unwrapped, item.binding) }
            return opened
        }
    }

    private func open(
        _ unwrapped: Unwrapped, _ binding: Enclave.ItemBinding, app: AppIdentifier, context: String?
    ) -> Opened {
        let withPassword = unwrapped.form.isWithPassword
        // AC-50, AC-51: bound to an enrolment that is no more.
        guard let control = remaining(unwrapped.control, boundTo: unwrapped.enrolment) else {
            var gone = Opened(.gone)
            gone.use = itemOpened(
                unwrapped.control.requirement, withPassword: withPassword, app: app, context: nil,
                result: "enrolment-changed")
            return gone
        }
        let requirement = control.requirement
        var needed = Opened(.authenticationNeeded)
        needed.control = control == unwrapped.control ? nil : control
        let context = self.context(context, of: app, for: binding.accessGroup)
        guard requirement.proofs.isEmpty || context.map({ isMet(requirement, by: $0.proven) }) == true else {
            return needed
        }
        guard withPassword else {
            var opened = Opened(.open, key: unwrapped.key)
            if !requirement.proofs.isEmpty {
                opened.use = itemOpened(requirement, withPassword: false, app: app, context: context)
            }
            return opened
        }
        // AC-04: wanted in addition to every proof, and looked at after them, so that nobody guesses without the owner.
        guard let password = context?.password.key else { return needed }
        guard
            let key = password.itemKey(binding).open(
                unwrapped.key, context: unwrapped.form.passwordContext(binding))
        else {
            var wrong = needed
            wrong.isPasswordWrong = true
            wrong.use = itemOpened(
                requirement, withPassword: true, app: app, context: context, result: "wrong-application-password")
            return wrong
        }
        var opened = Opened(.open, key: key.unprotectedCopy)
        opened.isPasswordRight = true
        opened.use = itemOpened(requirement, withPassword: true, app: app, context: context)
        return opened
    }
}

extension Accessibility {
    /// The class as one byte (KC-13).
    var number: UInt8 {
        switch self {
        case .whenUnlocked: 6
        case .afterFirstUnlock: 7
        case .always: 8
        case .whenUnlockedThisDeviceOnly: 9
        case .afterFirstUnlockThisDeviceOnly: 10
        case .alwaysThisDeviceOnly: 11
        case .whenPasscodeSetThisDeviceOnly: 12
        }
    }

    /// The class that a wrapped key says it is of: true once the key has opened.
    init?(wrappedKey: Data) {
        guard wrappedKey.count > 2 else { return nil }
        self.init(number: wrappedKey[wrappedKey.startIndex + 1])
    }

    init?(number: UInt8) {
        guard let found = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = found
    }
}
