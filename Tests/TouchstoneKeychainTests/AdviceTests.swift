import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// Section 9, and what other sections advise apps to do: the mistake beside what helps against it.
@Suite(.timeLimit(.minutes(10))) struct AdviceTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1) }

    private func addItem(
        _ name: String, _ flags: SecAccessControlCreateFlags,
        _ protection: CFString = kSecAttrAccessibleWhenUnlocked
    ) throws {
        let wanted = try control(flags, protection)
        try #require(add(account(name, [kSecAttrAccessControl: wanted]).value(name)) == errSecSuccess)
    }

    // MARK: calling the keychain

    @Test("KC-04: an app looks first, asks its user only if nothing is there, and updates in place")
    func lookFirst() throws {
        /// What an app does when it needs its password.
        func password(asking user: () -> String) throws -> String {
            switch find(account("me").data) {
            case (errSecSuccess, let data):
                return String(decoding: try #require(data as? Data), as: UTF8.self)
            case (errSecItemNotFound, _):
                let typed = user()
                #expect(add(account("me").value(typed)) == errSecSuccess)
                return typed
            case (let status, _):
                throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
            }
        }
        try device.runUnprompted {
            var asked = 0
            func user() -> String {
                asked += 1
                return "typed"
            }
            for _ in 0..<2 { #expect(try password(asking: user) == "typed") }
            #expect(asked == 1)
            #expect(add(account("me").value("changed")) == errSecDuplicateItem)
            #expect(update(account("me"), [kSecValueData: Data("changed".utf8)]) == errSecSuccess)
            #expect(try password(asking: user) == "changed")
            #expect(asked == 1)
            // Locked is not absent: nobody is asked, and nothing is written over it.
            try device.lock()
            #expect(throws: NSError.self) { try password(asking: user) }
            #expect(asked == 1)
        }
    }

    @Test("AC-26: the call blocks its thread for as long as the prompt is up, and no other") func blocking()
        async throws
    {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try device.run {
            try addItem("a", .userPresence)
            add(account("open").value("open"))
        }
        let reading = elsewhere { device.run { read(account("a")) } }
        await eventually { device.prompts.count == 1 }
        device.run { #expect(secret(account("open")) == "open") }
        // Only a call that still waits can have anything of this finger.
        device.present(.finger(1))
        #expect(await reading.value == errSecSuccess)
    }

    @Test("AC-29: success is the proof, also where there is nothing in the item") func emptyItem() throws {
        try device.run(prompts: 3) {
            let empty = account("a", [kSecAttrAccessControl: try control(.userPresence)]).with(kSecValueData, Data())
            #expect(add(empty) == errSecSuccess)
            device.present(.cancel)
            let refused = find(account("a").data)
            #expect(refused.status == errSecUserCanceled && refused.result == nil)
            device.present(.nonMatch, .nonMatch, .nonMatch, .cancel)
            #expect(find(account("a").data).result == nil)
            device.present(.finger(1))
            let proven = find(account("a").data)
            #expect(proven.status == errSecSuccess && proven.result as? Data == Data())
        }
    }

    @Test(
        "KC-28: in the background of a locked device an item for after the first unlock is read, one by default is not")
    func background() throws {
        try device.runUnprompted {
            #expect(add(account("default").value("1")) == errSecSuccess)
            let later: Attributes = [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]
            #expect(add(account("background", later).value("2")) == errSecSuccess)
            try device.setForeground(false)
            #expect(secret(account("default")) == "1", "the background alone is no obstacle")
            try device.lock()
            #expect(read(account("default")) == errSecInteractionNotAllowed)
            #expect(secret(account("background")) == "2")
            device.reboot()
            #expect(read(account("background")) == errSecInteractionNotAllowed)
        }
    }

    // MARK: who is asked

    @Test(
        "AT-03: who knows the passcode enrols a finger: biometryAny opens to it, the current set does not, the state tells"
    )
    func enrolling() throws {
        try device.run {
            try addItem("any", .biometryAny)
            try addItem("current", .biometryCurrentSet)
            let before = LAContext().domainState.biometry.stateHash
            let own = try device.enrollFinger()
            try device.removeFinger(1)
            #expect(LAContext().domainState.biometry.stateHash != before)
            device.present(.finger(own))
            #expect(secret(account("any")) == "any")
            #expect(read(account("current")) == errSecItemNotFound)
            #expect(device.prompts.count == 1)
        }
    }

    @Test(
        "AT-04: the passcode alone opens userPresence and devicePasscode, and nothing biometric",
        arguments: [
            (.userPresence, true), (.devicePasscode, true), (.biometryAny, false), (.biometryCurrentSet, false),
        ] as [(SecAccessControlCreateFlags, Bool)])
    func passcodeAlone(flags: SecAccessControlCreateFlags, opens: Bool) async throws {
        try await device.run {
            try addItem("a", flags)
            let context = LAContext()
            device.present(.nonMatch, .fallback, .passcode("1234"))
            #expect(
                try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "seen over a shoulder"))
            let query = account("a", [kSecUseAuthenticationContext: context])
            #expect(secret(query.silent) == (opens ? "a" : nil))
            #expect(read(query.silent) == (opens ? errSecSuccess : errSecInteractionNotAllowed))
        }
    }

    @Test("AT-05: of a dump of everything the open items come, and one refusal leaves nothing of a class")
    func dumping() throws {
        try device.run(prompts: 2) {
            try addItem("guarded", .biometryAny)
            add(account("open").value("open"))
            let everything = generic().all.attributes.data.with(kSecReturnRef, true)
            device.present(.cancel)
            let refused = find(everything)
            #expect(refused.status == errSecUserCanceled && refused.result == nil)
            func values(_ found: (status: OSStatus, result: CFTypeRef?)) -> Set<Data?> {
                Set((found.result as? [[String: Any]] ?? []).map { $0[kSecValueData as String] as? Data })
            }
            let skipping = find(everything.with(kSecUseAuthenticationUI, kSecUseAuthenticationUISkip))
            #expect(values(skipping) == [Data("open".utf8)])
            device.present(.finger(1))
            #expect(values(find(everything)) == [Data("open".utf8), Data("guarded".utf8)])
        }
    }

    @Test("AT-06: once it is proven an item's bytes are the app's for good; of a key there are only its uses")
    func stealing() throws {
        let flags: SecAccessControlCreateFlags = [.biometryAny, .privateKeyUsage]
        try device.run(prompts: 2) {
            try addItem("a", .biometryAny)
            let context = LAContext()
            let key = try enclaveKey([
                kSecAttrAccessControl: try control(flags), kSecUseAuthenticationContext: context,
            ])
            func signs() -> Bool {
                let message = Data("nonce".utf8) as CFData
                return SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, message, nil) != nil
            }
            device.present(.finger(1))
            #expect(secret(account("a")) == "a")
            device.present(.finger(1))
            #expect(signs() && signs(), "while the owner's proof lasts")
            #expect(SecKeyCopyExternalRepresentation(key, nil) == nil)
            #expect(find(keys([kSecReturnData: true])).result == nil)
            context.invalidate()
            #expect(!signs())
        }
    }

    @Test("AT-07: a state that was put in place of the kept one contents the app, and opens nothing") func editedState()
        throws
    {
        try device.run(prompts: 1) {
            try addItem("current", .biometryCurrentSet)
            var kept = LAContext().domainState.biometry.stateHash
            let own = try device.enrollFinger()
            let now = LAContext().domainState.biometry.stateHash
            #expect(now != kept, "what the app would have seen")
            kept = now
            #expect(LAContext().domainState.biometry.stateHash == kept, "what it sees")
            device.present(.finger(own))
            #expect(read(account("current")) == errSecItemNotFound)
            // The finger was of no use to that: nobody had been asked.
            try addItem("any", .biometryAny)
            #expect(secret(account("any")) == "any")
        }
    }

    // MARK: what a status says

    @Test("AT-11: -128, -25293 and -25308 are told apart, and after each the item opens")
    func statuses() throws {
        try device.run {
            try addItem("a", .biometryAny)
            func opens(_ comment: Comment) {
                device.present(.finger(1))
                #expect(secret(account("a")) == "a", comment)
            }
            device.present(.cancel)
            #expect(read(account("a")) == errSecUserCanceled)
            opens("after a cancel")
            let others: [[SimulatedDevice.Action]] = [
                [.nonMatch, .nonMatch, .nonMatch], [.nonMatch, .fallback], [.leaveApp],
            ]
            for actions in others {
                for action in actions { device.present(action) }
                #expect(read(account("a")) == errSecAuthFailed, "\(actions)")
                try device.setForeground(true)
                opens("after \(actions)")
            }
            try device.lock()
            #expect(read(account("a")) == errSecInteractionNotAllowed, "a locked class")
            #expect(try device.unlock(finger: 1))
            #expect(read(account("a").silent) == errSecInteractionNotAllowed, "a forbidden prompt")
            try device.setForeground(false)
            #expect(read(account("a")) == errSecInteractionNotAllowed, "the background")
            try device.setForeground(true)
            opens("after all of them")
        }
    }

    @Test("AT-12: what other fingers ended looks as if it had never been; a mark beside it tells") func marked() throws
    {
        try device.runUnprompted {
            try addItem("secret", .biometryCurrentSet)
            #expect(add(account("secret is set")) == errSecSuccess)
            try device.enrollFinger()
            for query in [{ $0.data }, { $0.attributes }, { $0 }] as [(Attributes) -> Attributes] {
                let (ended, never) = (find(query(account("secret"))), find(query(account("never"))))
                #expect(ended.status == errSecItemNotFound && ended.status == never.status)
                #expect(ended.result == nil && never.result == nil)
            }
            #expect(find(account("secret is set")).status == errSecSuccess)
            #expect(find(account("never is set")).status == errSecItemNotFound)
        }
    }
}
