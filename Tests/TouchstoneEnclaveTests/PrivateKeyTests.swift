import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneEnclaveHost
import TouchstoneMemory

@testable import TouchstoneEnclave

/// Private keys, as the enclave makes and opens them.
@Suite struct PrivateKeyTests {
    private var enclave: Enclave

    init() throws { enclave = try Enclave.device() }

    private static let digest = Data(0..<32)

    private func create(
        _ flags: AccessControl.Flags = .privateKeyUsage, _ protection: Accessibility = .whenUnlocked,
        group: AccessGroup = "app", context: String? = nil, in enclave: Enclave? = nil
    ) throws -> MadeKey {
        try (enclave ?? self.enclave).createKey(
            .init(
                kind: .p256, accessControl: .init(protection: protection, flags: flags), accessGroup: group, app: "app",
                context: context))
    }

    private func sign(
        _ key: Data, context: String? = nil, app: AppIdentifier = "app", groups: [AccessGroup] = ["app"],
        data: Data = digest,
        in enclave: Enclave? = nil
    ) throws -> Data {
        try (enclave ?? self.enclave)
            .sign(data, with: .init(key: key, app: app, accessGroups: groups, context: context)).get()
    }

    private func exchange(
        _ key: Data, _ publicKey: Data, _ operation: AccessControlOperation = .useKeyKeyExchange, context: String? = nil
    ) throws -> Data {
        try enclave.exchangeKeys(
            with: publicKey, .init(key: key, app: "app", accessGroups: ["app"], context: context), for: operation
        ).get()
    }

    private func isValid(_ signature: Data, by publicKey: Data) throws -> Bool {
        // Of the digest itself: what was signed is the SHA-256 of nothing that is known.
        let key = try P256.Signing.PublicKey(x963Representation: publicKey)
        return key.isValidSignature(try .init(rawRepresentation: signature), for: Digest32(Self.digest))
    }

    private struct Digest32: Digest {
        static let byteCount = 32
        let data: Data
        init(_ data: Data) { self.data = data }
        var description: String { "digest" }
        func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try data.withUnsafeBytes(body)
        }
        func hash(into hasher: inout Hasher) { hasher.combine(data) }
    }

    // MARK: the blob

    @Test("SE-03: a key opens for its app's groups, signs and exchanges keys") func opens() throws {
        let made = try create()
        #expect(try isValid(sign(made.key), by: made.publicKey))
        #expect(try isValid(sign(made.key, groups: ["other", "app"]), by: made.publicKey))
        let other = P256.KeyAgreement.PrivateKey()
        let mine = try exchange(made.key, other.publicKey.x963Representation)
        let theirs = try other.sharedSecretFromKeyAgreement(
            with: .init(x963Representation: made.publicKey))
        #expect(theirs.withUnsafeBytes { Data($0) } == mine)
        #expect(mine == (try exchange(made.key, other.publicKey.x963Representation, .useKeyDecrypt)))
        let facts = try enclave.inspectKey(made.key, accessGroups: ["app"])
        #expect(facts.kind == .p256 && facts.publicKey == made.publicKey && facts.accessGroup == "app")
        #expect(facts.accessControl == (try AccessControl(protection: .whenUnlocked, flags: .privateKeyUsage)))
        #expect(try create().key != made.key)
        #expect(try create().publicKey != made.publicKey)
    }

    @Test("AC-45: with any bit flipped it does not open") func flippedBits() throws {
        let made = try create()
        for index in made.key.indices {
            for bit in 0..<8 {
                var changed = made.key
                changed[index] ^= 1 << UInt8(bit)
                #expect(refusal { _ = try sign(changed) } == .decode, "bit \(bit) of byte \(index)")
            }
        }
        #expect(try isValid(sign(made.key), by: made.publicKey))
    }

    @Test("AC-45: cut anywhere, or made longer, it does not open") func lengths() throws {
        let made = try create()
        for count in 0..<made.key.count { #expect(refusal { _ = try sign(made.key.prefix(count)) } == .decode) }
        for extra in [1, 16, 1 << 20] { #expect(refusal { _ = try sign(made.key + Data(count: extra)) } == .decode) }
        #expect(refusal { _ = try sign(Data(count: 1 << 20)) } == .decode)
        // From the middle of other bytes it is the same.
        let slice = (Data(count: 7) + made.key).dropFirst(7)
        #expect(try isValid(sign(slice), by: made.publicKey))
    }

    @Test("SE-03: a key of another device is none, one of another group is not found") func othersKeys() throws {
        let made = try create()
        let other = try Enclave.device(root: TestRoot(2))
        #expect(refusal { _ = try sign(made.key, in: other) } == .decode)
        #expect(refusal { _ = try other.inspectKey(made.key, accessGroups: ["app"]) } == .decode)
        for groups: [AccessGroup] in [[], ["other"], ["App"], ["app "], ["app\0"]] {
            #expect(refusal { _ = try sign(made.key, groups: groups) } == .itemNotFound)
            #expect(
                refusal { _ = try enclave.inspectKey(made.key, accessGroups: groups) } == .itemNotFound)
        }
        let spelled = try create(group: "caf\u{e9}")
        #expect(refusal { _ = try sign(spelled.key, groups: ["cafe\u{301}"]) } == .itemNotFound)
        #expect(refusal { _ = try create(group: AccessGroup(String(repeating: "g", count: 65_536))) } == .param)
        let long = AccessGroup(String(repeating: "g", count: 65_535))
        #expect(try isValid(sign(create(group: long).key, groups: [long]), by: create().publicKey) == false)
    }

    @Test("AC-45: an item's wrapped key, and a backup's, are no private keys") func otherBlobs() throws {
        let binding = Enclave.ItemBinding(accessGroup: "app", item: Data("item".utf8))
        let wrapped = try enclave.wrap(
            .init(
                accessControl: .init(protection: .whenUnlocked, flags: []), binding: binding, key: Self.digest,
                app: "app", context: nil), now: 0)
        #expect(refusal { _ = try sign(wrapped) } == .decode)
        let made = try create()
        #expect(enclave.unwrap(.init(wrappedKey: made.key, binding: binding), app: "app", context: nil).state == .gone)
    }

    @Test("AC-45: other data that this device sealed does not open as a key: other kinds, classes, controls, lengths")
    func sealedAndMalformed() throws {
        let made = try create()
        let key = enclave.blobKey.symmetricKey
        let context = Data("io.touchstone private key blob 2".utf8)
        let plain = try AES.GCM.open(.init(combined: made.key.dropFirst()), using: key, authenticating: context)
        func expectNone(_ change: (inout Data) -> Void) throws {
            var changed = plain
            change(&changed)
            let sealed = try AES.GCM.seal(changed, using: key, authenticating: context).combined ?? Data()
            #expect(refusal { _ = try sign(Data([2]) + sealed) } == .decode)
            #expect(changed != plain)
        }
        let same = try AES.GCM.seal(plain, using: key, authenticating: context).combined ?? Data()
        #expect(try isValid(sign(Data([2]) + same), by: made.publicKey))
        for version: UInt8 in [0, 1, 3] { #expect(refusal { _ = try sign(Data([version]) + same) } == .decode) }
        try expectNone { $0[0] = 0 }
        try expectNone { $0[0] = 255 }
        try expectNone { $0[1] = 5 }
        // userPresence with devicePasscode: AC-02.
        try expectNone { $0[2] = 17 }
        try expectNone { $0[74] = 255 }
        try expectNone { $0 = $0.prefix(80) }
        try expectNone { $0 = Data() }
        // A description that says more than the sealed key was sealed with: this one is the device's, and its inside is not.
        var other = plain
        other[6] ^= 0x80
        let sealed = Data([2]) + (try AES.GCM.seal(other, using: key, authenticating: context).combined ?? Data())
        #expect(isInvalidated { _ = try sign(sealed) })
    }

    @Test("SE-02: the number is nowhere in the blob, nor in what the device key alone opens") func numberIsSealed()
        throws
    {
        let made = try create()
        let classKey = try #require(enclave.keys[.whenUnlocked])
        let blob = try #require(PrivateKeyBlob(made.key, key: enclave.blobKey.symmetricKey))
        let box = try AES.GCM.SealedBox(combined: blob.sealedKey)
        let number = try AES.GCM.open(box, using: classKey.symmetricKey, authenticating: blob.description)
        #expect(try P256.Signing.PrivateKey(rawRepresentation: number).publicKey.x963Representation == made.publicKey)
        #expect(made.key.range(of: number) == nil)
        #expect((blob.description + blob.sealedKey).range(of: number) == nil)
        #expect(enclave.state == (try Enclave(stateFile: enclave.stateFile(), root: enclave.root, now: 0)).state)
        #expect(try enclave.stateFile().range(of: number) == nil)
    }

    // MARK: what a use asks for

    @Test("SE-13, AC-20: constraints without privateKeyUsage allow no use") mutating func privateKeyUsage() throws {
        let context = try enclave.proven(.biometrics)
        for flags: AccessControl.Flags in [.userPresence, .biometryAny, .devicePasscode] {
            let made = try create(flags)
            #expect(refusal { _ = try sign(made.key, context: context) } == .authFailed)
            #expect(refusal { _ = try exchange(made.key, made.publicKey, context: context) } == .authFailed)
            #expect(
                throws: KeyRefusal.failed(
                    .authFailed, .operationNotGranted, try AccessControl(protection: .whenUnlocked, flags: flags))
            ) { try sign(made.key, context: context) }
        }
        for flags: AccessControl.Flags in [[], .or, .and, .privateKeyUsage] {
            let made = try create(flags)
            #expect(try isValid(sign(made.key), by: made.publicKey))
        }
    }

    @Test("AC-20: it opens for a context that has proven enough, of the same app and of the key's group, and no other")
    mutating func contexts() throws {
        let made = try create([.biometryAny, .privateKeyUsage])
        let control = try AccessControl(protection: .whenUnlocked, flags: [.biometryAny, .privateKeyUsage])
        func expectNeeded(_ context: String?, app: AppIdentifier = "app") {
            #expect(throws: KeyRefusal.needed(control, .useKeySign)) {
                try sign(made.key, context: context, app: app)
            }
        }
        expectNeeded(nil)
        expectNeeded("")
        expectNeeded("0123456789abcdef0123456789abcdef")
        expectNeeded(enclave.createContext(app: "app", accessGroups: ["app"]))
        expectNeeded(try enclave.proven(.deviceOwner, passcode: "1234"))
        let foreign = try enclave.proven(.biometrics, app: "other")
        expectNeeded(foreign)
        expectNeeded(foreign, app: "other")
        let proven = try enclave.proven(.biometrics)
        expectNeeded(proven, app: "other")
        #expect(try isValid(sign(made.key, context: proven), by: made.publicKey))
        let shared = try create([.biometryAny, .privateKeyUsage], group: "shared")
        // The context is of an app that has no such group, whatever touchstoned says of the call.
        #expect(isNeeded { _ = try sign(shared.key, context: proven, groups: ["app", "shared"]) } != nil)
        _ = enclave.invalidateContext(proven)
        expectNeeded(proven)
    }

    @Test("AC-50, AC-52: another enrolment ends a key of the current set, and no other") mutating func enrolment()
        throws
    {
        let current = try create([.biometryCurrentSet, .privateKeyUsage])
        let any = try create([.biometryAny, .privateKeyUsage])
        try enclave.enroll("another", sample: .finger(7))
        let proven = try enclave.proven(.biometrics)
        #expect(isInvalidated { _ = try sign(current.key, context: proven) })
        #expect(try isValid(sign(any.key, context: proven), by: any.publicKey))
        try enclave.removeFinger("another")
        #expect(isInvalidated { _ = try sign(current.key) })
        #expect(isInvalidated { _ = try exchange(current.key, current.publicKey) })
        #expect(try enclave.inspectKey(current.key, accessGroups: ["app"]).publicKey == current.publicKey)
    }

    @Test("AC-50, AC-52: of either-or other fingers shut the way of the set that was, and end no key")
    mutating func eitherOr() throws {
        enclave = try Enclave.device(fingers: 0)
        let any = try create([.biometryAny, .or, .devicePasscode, .privateKeyUsage])
        let current = try create([.biometryCurrentSet, .or, .devicePasscode, .privateKeyUsage])
        try enclave.enroll("finger 1", sample: .finger(1))
        let bound = try create([.biometryCurrentSet, .or, .devicePasscode, .privateKeyUsage])
        let finger = try enclave.proven(.biometrics)
        for made in [any, bound] { #expect(try isValid(sign(made.key, context: finger), by: made.publicKey)) }
        let needed = isNeeded { _ = try sign(current.key, context: finger) }
        #expect(needed?.flags == [.or, .devicePasscode, .privateKeyUsage])
        try enclave.enroll("finger 2", sample: .finger(2))
        let other = try enclave.proven(.biometrics)
        #expect(isNeeded { _ = try sign(bound.key, context: other) } != nil)
        let passcode = try enclave.proven(.init(proofs: [.passcode]), passcode: "1234")
        for made in [any, current, bound] {
            #expect(try isValid(sign(made.key, context: passcode), by: made.publicKey))
        }
    }

    @Test("KC-20, KC-23: locked is not invalidated; a destroyed class is") mutating func classes() throws {
        let locked = try create(.privateKeyUsage, .whenUnlocked)
        let passcode = try create(.privateKeyUsage, .whenPasscodeSetThisDeviceOnly)
        _ = enclave.lock(now: 0)
        #expect(refusal { _ = try sign(locked.key) } == .interactionNotAllowed)
        #expect(refusal { _ = try sign(passcode.key) } == .interactionNotAllowed)
        #expect(refusal { _ = try create() } == .interactionNotAllowed)
        #expect(try enclave.inspectKey(locked.key, accessGroups: ["app"]).publicKey == locked.publicKey)
        try enclave.unlock("1234")
        #expect(try isValid(sign(passcode.key), by: passcode.publicKey))
        try enclave.changePasscode(from: "1234", to: nil)
        #expect(isInvalidated { _ = try sign(passcode.key) })
        #expect(refusal { _ = try create(.privateKeyUsage, .whenPasscodeSetThisDeviceOnly) } == .authFailed)
        try enclave.changePasscode(from: nil, to: "1234")
        #expect(isInvalidated { _ = try sign(passcode.key) })
        #expect(try isValid(sign(locked.key), by: locked.publicKey))
    }

    // MARK: keys that stay open

    @Test("A key that was opened stays so until the lock, and is the same key") mutating func staysOpen() throws {
        let made = try create()
        #expect(enclave.openedPrivateKeys.count == 0)
        for _ in 0..<3 { #expect(try isValid(sign(made.key), by: made.publicKey)) }
        #expect(enclave.openedPrivateKeys.count == 1)
        // A copy of the enclave that is not kept shuts nothing that the other has not shut.
        var dropped = enclave
        _ = dropped.lock(now: 0)
        #expect(refusal { _ = try sign(made.key, in: dropped) } == .interactionNotAllowed)
        #expect(try isValid(sign(made.key), by: made.publicKey))
        _ = enclave.lock(now: 0)
        #expect(enclave.openedPrivateKeys.count == 0)
        #expect(refusal { _ = try sign(made.key) } == .interactionNotAllowed)
        #expect(enclave.openedPrivateKeys.count == 0)
        try enclave.unlock("1234")
        #expect(try isValid(sign(made.key), by: made.publicKey))
    }

    @Test("SE-03, AC-20: a key that is open asks for all that it asked for when it was not")
    mutating func openAsksForAll() throws {
        let made = try create([.biometryCurrentSet, .privateKeyUsage])
        let proven = try enclave.proven(.biometrics)
        #expect(try isValid(sign(made.key, context: proven), by: made.publicKey))
        #expect(enclave.openedPrivateKeys.count == 1)
        #expect(isNeeded { _ = try sign(made.key) } != nil)
        #expect(isNeeded { _ = try sign(made.key, context: proven, app: "other") } != nil)
        #expect(refusal { _ = try sign(made.key, context: proven, groups: ["other"]) } == .itemNotFound)
        #expect(try isValid(sign(made.key, context: proven), by: made.publicKey))
        try enclave.enroll("another", sample: .finger(7))
        #expect(isInvalidated { _ = try sign(made.key, context: try enclave.proven(.biometrics)) })
    }

    @Test("AC-04: a key that wants an application password is opened each time") mutating func passwordKeys() throws {
        let context = enclave.createContext(app: "app", accessGroups: ["app"])
        let entry = try seal(
            "right", to: enclave.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
        let job = try #require(try enclave.setCredential(entry, context: context, app: "app", now: 0))
        _ = enclave.finishCredential(job, key: try job.run())
        let made = try create([.applicationPassword, .privateKeyUsage], context: context)
        for _ in 0..<2 { #expect(try isValid(sign(made.key, context: context), by: made.publicKey)) }
        #expect(enclave.openedPrivateKeys.count == 0)
        #expect(isNeeded { _ = try sign(made.key) } != nil)
        // Its twin.
        let other = try create()
        #expect(try isValid(sign(other.key), by: other.publicKey))
        #expect(enclave.openedPrivateKeys.count == 1)
    }

    @Test("The 257th key takes the place of the oldest") func mostOpenKeys() throws {
        let keys = try (0...OpenedPrivateKeys.maximum).map { _ in try create() }
        for made in keys { #expect(try isValid(sign(made.key), by: made.publicKey)) }
        #expect(enclave.openedPrivateKeys.count == OpenedPrivateKeys.maximum)
        #expect(enclave.openedPrivateKeys.key(keys[0].key, epoch: enclave.keysEpoch) == nil)
        #expect(enclave.openedPrivateKeys.key(keys[1].key, epoch: enclave.keysEpoch) != nil)
        #expect(try isValid(sign(keys[0].key), by: keys[0].publicKey))
    }

    @Test("AC-15, KC-24: what could never be given refuses the key") func whatCannotBeBound() throws {
        let noFinger = try Enclave.device(fingers: 0)
        let noSensor = try Enclave.device(.none, fingers: 0)
        let noPasscode = try Enclave.device(passcode: nil, fingers: 0)
        for flags: AccessControl.Flags in [.biometryAny, .biometryCurrentSet] {
            for enclave in [noFinger, noSensor, noPasscode] {
                #expect(refusal { _ = try create([flags, .privateKeyUsage], in: enclave) } == .authFailed)
            }
        }
        for flags: AccessControl.Flags in [.biometryAny, .biometryCurrentSet] {
            let either: AccessControl.Flags = [flags, .or, .devicePasscode, .privateKeyUsage]
            for enclave in [noFinger, noSensor] { _ = try create(either, in: enclave) }
            #expect(refusal { _ = try create(either, in: noPasscode) } == .authFailed)
        }
        #expect(refusal { _ = try create([.userPresence, .privateKeyUsage], in: noPasscode) } == .authFailed)
        #expect(refusal { _ = try create([.companion, .privateKeyUsage]) } == .authFailed)
        _ = try create([.userPresence, .privateKeyUsage], in: noSensor)
    }

    // MARK: what is not a request

    @Test("SE-21: data of another length than a digest's is -50, as is what is no point") func malformed() throws {
        let made = try create()
        for count in [0, 1, 31, 33, 64, 1 << 20] {
            #expect(refusal { _ = try sign(made.key, data: Data(count: count)) } == .param)
        }
        let other = P256.KeyAgreement.PrivateKey().publicKey
        var offCurve = other.x963Representation
        offCurve[64] ^= 1
        for point in [
            Data(), Data([4]), Data(count: 65), Data([4]) + Data(count: 64), offCurve, other.x963Representation + [0],
            other.compressedRepresentation, other.rawRepresentation,
            P384.KeyAgreement.PrivateKey().publicKey.x963Representation,
        ] {
            #expect(refusal { _ = try exchange(made.key, point) } == .param)
        }
        for operation: AccessControlOperation in [.createItem, .useItem, .createKey, .useKeySign] {
            #expect(refusal { _ = try exchange(made.key, other.x963Representation, operation) } == .param)
        }
        #expect(try exchange(made.key, other.x963Representation).count == 32)
    }
}
