import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

/// Items that want a password of the app's own, which is part of their key.
@Suite(.timeLimit(.minutes(10))) struct ApplicationPasswordTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func context(_ password: String?) -> LAContext {
        let context = LAContext()
        if let password { #expect(context.setCredential(Data(password.utf8), type: .applicationPassword)) }
        return context
    }

    private func with(_ context: LAContext, _ name: String = "a") -> Attributes {
        account(name, [kSecUseAuthenticationContext: context])
    }

    private func addItem(
        _ name: String = "a", _ flags: SecAccessControlCreateFlags = .applicationPassword, password: String = "right"
    ) throws {
        let item = with(context(password), name).with(kSecAttrAccessControl, try control(flags))
        try #require(add(item.value(name)) == errSecSuccess)
    }

    // MARK: what opens it

    @Test("AC-48, EV-60: the password opens the item, in any context of the app that has it") func rightPassword()
        throws
    {
        try device.runUnprompted {
            try addItem()
            let first = context("right")
            for _ in 0..<2 { #expect(secret(with(first)) == "a") }
            #expect(secret(with(context("right"))) == "a")
            #expect(try attributes(with(first))["acct"] as? String == "a")
            #expect(update(with(first), [kSecValueData: Data("b".utf8)]) == errSecSuccess)
            #expect(secret(with(first)) == "b")
        }
    }

    @Test(
        "AC-48: no other password opens it: -25293",
        arguments: ["", "Right", "right ", "righ", "right\0", String(repeating: "r", count: 256)])
    func wrongPassword(password: String) throws {
        try device.runUnprompted {
            try addItem()
            #expect(read(with(context(password))) == errSecAuthFailed)
            #expect(find(with(context(password)).attributes).status == errSecAuthFailed)
            #expect(update(with(context(password)), [kSecAttrLabel: "x"]) == errSecAuthFailed)
            #expect(secret(with(context("right"))) == "a")
            #expect(try attributes(with(context("right")))["labl"] == nil)
        }
    }

    @Test("AC-46: a password that was wrong is forgotten, and the right one set in its place opens the item")
    func wrongIsForgotten() throws {
        try device.runUnprompted {
            try addItem()
            let context = context("wrong")
            #expect(context.isCredentialSet(.applicationPassword))
            #expect(read(with(context)) == errSecAuthFailed)
            #expect(!context.isCredentialSet(.applicationPassword))
            #expect(context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(secret(with(context)) == "a")
            #expect(context.isCredentialSet(.applicationPassword))
        }
    }

    @Test(
        "EV-61, AC-48: without a password and anybody to ask -25293, where nobody may be asked -25308, and Skip leaves the item out"
    )
    func missingPassword() throws {
        try device.runUnprompted {
            device.setAttended(false)
            try addItem()
            add(account("open").value("open"))
            for query in [account("a"), with(context(nil))] {
                #expect(read(query) == errSecAuthFailed)
                #expect(find(query.attributes).status == errSecAuthFailed)
                #expect(update(query, [kSecAttrLabel: "x"]) == errSecAuthFailed)
                #expect(read(query.silent) == errSecInteractionNotAllowed)
                #expect(read(query.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)) == errSecItemNotFound)
            }
            let quiet = context(nil)
            quiet.interactionNotAllowed = true
            #expect(read(with(quiet)) == errSecInteractionNotAllowed)
            let skipping = generic([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])
            #expect(accounts(skipping) == ["open"])
        }
    }

    @Test("EV-54: with the password Fail and interactionNotAllowed succeed: nothing has to be asked")
    func silentWithPassword() throws {
        try device.runUnprompted {
            try addItem()
            let context = context("right")
            context.interactionNotAllowed = true
            #expect(secret(with(context)) == "a")
            #expect(secret(with(context).silent) == "a")
            let skipping = with(context).with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip)
            #expect(secret(skipping) == "a")
        }
    }

    @Test("AC-24, KC-32: deleting and adding a duplicate want no password") func deleting() throws {
        try device.runUnprompted {
            try addItem()
            #expect(add(account("a").value("x").silent) == errSecDuplicateItem)
            #expect(delete(account("a").silent) == errSecSuccess)
            #expect(read(with(context("right"))) == errSecItemNotFound)
        }
    }

    // MARK: adding and changing

    @Test("AC-21: adding needs the password: -25293 without it, -25308 if nobody may be asked, and nothing is stored")
    func addingWithout() throws {
        try device.runUnprompted {
            device.setAttended(false)
            let item = account("a", [kSecAttrAccessControl: try control(.applicationPassword)]).value("a")
            #expect(add(item) == errSecAuthFailed)
            #expect(add(item.silent) == errSecInteractionNotAllowed)
            #expect(add(item.with(kSecUseAuthenticationContext, context(nil))) == errSecAuthFailed)
            #expect(find(account("a")).status == errSecItemNotFound)
        }
    }

    @Test("AC-48: a password comes with an update whose query has the context, and goes with another")
    func addedAndRemovedByUpdate() throws {
        try device.runUnprompted {
            device.setAttended(false)
            add(account("a").value("1"))
            let wanted: Attributes = [kSecAttrAccessControl: try control(.applicationPassword)]
            #expect(update(account("a"), wanted) == errSecAuthFailed)
            #expect(secret(account("a")) == "1")
            let context = context("right")
            let misplaced = wanted.with(kSecUseAuthenticationContext, context)
            #expect(update(account("a"), misplaced) == errSecNoSuchAttr)
            #expect(update(with(context), wanted) == errSecSuccess)
            #expect(read(account("a")) == errSecAuthFailed)
            #expect(secret(with(context)) == "1")
            let none: Attributes = [kSecAttrAccessControl: try control([])]
            #expect(update(account("a"), none) == errSecAuthFailed)
            #expect(update(with(self.context("wrong")), none) == errSecAuthFailed)
            #expect(update(with(context), none) == errSecSuccess)
            #expect(secret(account("a")) == "1")
        }
    }

    @Test("AC-48: a new password comes by way of none: what is read and what is written use the context's one")
    func newPassword() throws {
        try device.runUnprompted {
            try addItem()
            #expect(try update(with(context("right")), [kSecAttrAccessControl: control([])]) == errSecSuccess)
            let wanted: Attributes = [kSecAttrAccessControl: try control(.applicationPassword)]
            #expect(update(with(context("new")), wanted) == errSecSuccess)
            #expect(read(with(context("right"))) == errSecAuthFailed)
            #expect(secret(with(context("new"))) == "a")
        }
    }

    // MARK: together with proofs

    static let withProofs: [SecAccessControlCreateFlags] = [
        [.userPresence, .applicationPassword], [.biometryAny, .applicationPassword],
        [.biometryAny, .or, .devicePasscode, .applicationPassword],
    ]

    @Test("AC-04: the password is wanted in addition to every proof, never instead of one", arguments: withProofs)
    func together(flags: SecAccessControlCreateFlags) throws {
        try device.run(prompts: 2) {
            try addItem("a", flags)
            // Without the password, and anybody to ask for it, the finger is not asked for in vain.
            device.setAttended(false)
            #expect(read(account("a")) == errSecAuthFailed)
            device.setAttended(true)
            // The finger alone.
            let wrong = context("wrong")
            device.present(.finger(1))
            #expect(read(with(wrong)) == errSecAuthFailed)
            // The password alone.
            let context = context("right")
            #expect(read(with(context).silent) == errSecInteractionNotAllowed)
            device.present(.finger(1))
            #expect(secret(with(context)) == "a")
            #expect(secret(with(context).silent) == "a")
            // What was proven to the context stays; only the password was forgotten.
            #expect(wrong.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(secret(with(wrong).silent) == "a")
        }
    }

    @Test("AC-04: a wrong password is told only to those who proved the rest") func wrongWithoutProof() throws {
        try device.run(prompts: 1) {
            try addItem("a", [.userPresence, .applicationPassword])
            let context = context("wrong")
            device.present(.cancel)
            #expect(read(with(context)) == errSecUserCanceled)
            #expect(context.isCredentialSet(.applicationPassword))
        }
    }

    @Test("AC-23: items with different passwords are not to be had in one call, those with one are") func severalItems()
        throws
    {
        try device.runUnprompted {
            try addItem("a")
            try addItem("b")
            let all = generic([kSecUseAuthenticationContext: context("right")]).all.data
            #expect((find(all).result as? [Data])?.count == 2)
            try addItem("c", password: "other")
            #expect(find(all).status == errSecAuthFailed)
            #expect(secret(with(context("other"), "c")) == "c")
        }
    }

    @Test("EV-62: evaluating a control with a password wants it set, for creating too") func evaluating() async throws {
        try await device.run {
            let wanted = try control([.userPresence, .applicationPassword])
            device.setAttended(false)
            for operation in [LAAccessControlOperation.createItem, .useItem] {
                let context = LAContext()
                await #expect {
                    try await context.evaluateAccessControl(wanted, operation: operation, localizedReason: "r")
                } throws: {
                    ($0 as? LAError)?.code == .authenticationFailed
                }
                context.interactionNotAllowed = true
                await #expect {
                    try await context.evaluateAccessControl(wanted, operation: operation, localizedReason: "r")
                } throws: {
                    ($0 as? LAError)?.code == .notInteractive
                }
            }
            device.setAttended(true)
            #expect(device.prompts.isEmpty)
            let context = context("right")
            #expect(
                try await context.evaluateAccessControl(wanted, operation: .createItem, localizedReason: "r"))
            #expect(device.prompts.isEmpty)
            device.present(.finger(1))
            #expect(try await context.evaluateAccessControl(wanted, operation: .useItem, localizedReason: "r"))
        }
    }

    @Test("EV-62: a control of the password alone is met once it is set, without a prompt") func passwordAlone()
        async throws
    {
        try await device.run {
            let isMet = try await context("x").evaluateAccessControl(
                control(.applicationPassword), operation: .useItem, localizedReason: "r")
            #expect(isMet)
            #expect(device.prompts.isEmpty)
        }
    }

    // MARK: setCredential

    @Test("EV-60: nil takes the password away; isCredentialSet tells") func settingAndTakingAway() throws {
        try device.runUnprompted {
            try addItem()
            let context = LAContext()
            #expect(!context.isCredentialSet(.applicationPassword))
            #expect(context.setCredential(nil, type: .applicationPassword))
            #expect(context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(context.isCredentialSet(.applicationPassword))
            #expect(secret(with(context)) == "a")
            #expect(context.setCredential(nil, type: .applicationPassword))
            #expect(!context.isCredentialSet(.applicationPassword))
            device.setAttended(false)
            #expect(read(with(context)) == errSecAuthFailed)
        }
    }

    @Test("EV-60: an empty password and one of 256 bytes of any kind are passwords; 257 bytes are refused")
    func lengths()
        throws
    {
        try device.runUnprompted {
            let longest = Data((0..<256).map { UInt8($0) })
            for (name, password) in [("empty", Data()), ("longest", longest)] {
                let context = LAContext()
                #expect(context.setCredential(password, type: .applicationPassword))
                let item = with(context, name).with(kSecAttrAccessControl, try control(.applicationPassword))
                #expect(add(item.value(name)) == errSecSuccess)
                let other = LAContext()
                #expect(other.setCredential(password, type: .applicationPassword))
                #expect(secret(with(other, name)) == name)
                #expect(read(account(name).silent) == errSecInteractionNotAllowed)
            }
            let context = context("right")
            #expect(!context.setCredential(longest + [0], type: .applicationPassword))
            #expect(context.isCredentialSet(.applicationPassword), "the one before stays")
        }
    }

    @Test("EV-50, EV-60: an invalidated context takes no password") func invalidated() {
        device.run {
            let context = context("right")
            context.invalidate()
            #expect(!context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(!context.isCredentialSet(.applicationPassword))
        }
    }

    @Test("A smart card's PIN is not taken: there is no smart card") func smartCard() {
        device.run {
            let context = LAContext()
            #expect(!context.setCredential(Data("1234".utf8), type: .smartCardPIN))
            #expect(!context.isCredentialSet(.smartCardPIN))
            #expect(context.setCredential(nil, type: .smartCardPIN))
            #expect(!context.isCredentialSet(.applicationPassword))
            #expect((LACredentialType.applicationPassword.rawValue, LACredentialType.smartCardPIN.rawValue) == (0, -3))
        }
    }

    @Test("A password is the app's and no proof of the owner's: it outlives the lock, and not the device's restart")
    func lockAndRestart() throws {
        try device.runUnprompted {
            try addItem()
            let context = context("right")
            try device.lock()
            #expect(read(with(context)) == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            #expect(secret(with(context)) == "a")
            device.reboot()
            try device.unlock(passcode: "1234")
            #expect(!context.isCredentialSet(.applicationPassword))
            device.setAttended(false)
            #expect(read(with(context)) == errSecAuthFailed)
            #expect(context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(secret(with(context)) == "a")
        }
    }

    @Test("A.3: another app's context has no password for us, whatever its name") func foreignContext() throws {
        let mine = device.run { context("right") }
        let name = try device.run { try mine.deviceContext.identifier() }
        try device.run(as: "other") {
            try addItem()
            let client = try DeviceEndpoint.current().client()
            let query: KeychainInterface.Dictionary = [.class: .string("genp"), .returnData: .boolean(true)]
            #expect {
                try client.call(KeychainInterface.CopyMatching.self, .init(query: query, context: name))
            } throws: {
                ($0 as? RemoteError)?.as(KeychainInterface.Failed.self)?.reason
                    == RefusalCause.interactionForbidden.rawValue
            }
            let isSet = try client.call(AuthenticationInterface.IsCredentialSet.self, .init(context: name)).isSet
            #expect(!isSet)
            #expect {
                try client.call(AuthenticationInterface.SetCredential.self, .init(context: name, credential: nil))
            } throws: {
                ($0 as? RemoteError)?.as(AuthenticationInterface.Failed.self)?.code == .invalidContext
            }
        }
        #expect(device.run { mine.isCredentialSet(.applicationPassword) })
    }

    // MARK: what cannot be

    @Test("AC-20: a password whose control is for private keys could never be read, and is refused") func keyUsage()
        throws
    {
        device.runUnprompted {
            for flags in [
                .privateKeyUsage, [.privateKeyUsage, .userPresence], [.privateKeyUsage, .applicationPassword],
            ] as [SecAccessControlCreateFlags] {
                let item = with(context("right")).with(kSecAttrAccessControl, try! control(flags)).value("a")
                #expect(add(item) == errSecParam, "\(flags.rawValue)")
            }
            #expect(find(account("a")).status == errSecItemNotFound)
        }
    }

    @Test("AC-15: a companion alone, or in addition, is refused: there is none; as one of several ways it is tolerated")
    func companions() throws {
        try device.run(prompts: 1) {
            for flags in [
                .companion, [.companion, .biometryAny], [.companion, .and, .biometryAny], [.companion, .or],
            ] as [SecAccessControlCreateFlags] {
                let item = account("a", [kSecAttrAccessControl: try control(flags)]).value("a")
                #expect(add(item) == errSecAuthFailed, "\(flags.rawValue)")
            }
            let either = account("a", [kSecAttrAccessControl: try control([.companion, .or, .biometryAny])])
            #expect(add(either.value("a")) == errSecSuccess)
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
        }
    }
}
