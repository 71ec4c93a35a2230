import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

/// EV-61: the owner is asked for a password that the app has not set.
@Suite(.timeLimit(.minutes(10))) struct ApplicationPasswordPromptTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    private func item(_ name: String = "a", _ flags: SecAccessControlCreateFlags = .applicationPassword) throws
        -> Attributes
    {
        account(name, [kSecAttrAccessControl: try control(flags)]).value(name)
    }

    private func addItem(_ name: String = "a", _ flags: SecAccessControlCreateFlags = .applicationPassword) throws {
        let context = LAContext()
        #expect(context.setCredential(Data("right".utf8), type: .applicationPassword))
        try #require(add(try item(name, flags).with(kSecUseAuthenticationContext, context)) == errSecSuccess)
    }

    private func with(_ context: LAContext) -> Attributes { account("a", [kSecUseAuthenticationContext: context]) }

    @Test("EV-61: a read without the password asks for it, and the right one opens the item") func read() throws {
        try device.run(prompts: 1) {
            try addItem()
            device.present(.applicationPassword("right"))
            #expect(secret(account("a")) == "a")
            let prompt = try #require(device.prompts.last)
            #expect(prompt.asksForApplicationPassword && !prompt.asksForPasscode && !prompt.isWrong)
            #expect(prompt.fallbackTitle == nil)
        }
    }

    @Test("EV-61, AC-25: what was typed stays with the app's context, and with no other") func staysWithTheContext()
        throws
    {
        try device.run(prompts: 2) {
            try addItem()
            let context = LAContext()
            device.present(.applicationPassword("right"))
            #expect(secret(with(context)) == "a")
            #expect(context.isCredentialSet(.applicationPassword))
            #expect(secret(with(context)) == "a")
            device.present(.applicationPassword("right"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("EV-61, AC-46: a wrong one is asked for again, and says so; the third ends with -25293") func wrong() throws {
        try device.run(prompts: 5) {
            try addItem()
            device.present(.applicationPassword("wrong"), .applicationPassword("right"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.suffix(2).map(\.isWrong) == [false, true])
            let context = LAContext()
            device.present(.applicationPassword("1"), .applicationPassword("2"), .applicationPassword("3"))
            #expect(Self.read(with(context)) == errSecAuthFailed)
            #expect(device.prompts.suffix(3).map(\.isWrong) == [false, true, true])
            #expect(!context.isCredentialSet(.applicationPassword))
        }
    }

    private static func read(_ query: Attributes) -> OSStatus { find(query.data).status }

    @Test("EV-61: after three wrong ones the next call starts again") func again() throws {
        try device.run(prompts: 4) {
            try addItem()
            let context = LAContext()
            device.present(.applicationPassword("1"), .applicationPassword("2"), .applicationPassword("3"))
            #expect(Self.read(with(context)) == errSecAuthFailed)
            device.present(.applicationPassword("right"))
            #expect(secret(with(context)) == "a")
            #expect(device.prompts.last?.isWrong == false)
        }
    }

    @Test(
        "EV-61: three entries are of one access control: right ones for two in turn are asked for as often as is wanted"
    )
    func eachControlHasItsEntries() throws {
        // The finger has a prompt of its own: until it has proven something, nobody sees that the password is another item's.
        try device.run(prompts: 7) {
            try addItem()
            let other = LAContext()
            #expect(other.setCredential(Data("other".utf8), type: .applicationPassword))
            let wanted = try item("b", [.biometryAny, .applicationPassword])
            try #require(add(wanted.with(kSecUseAuthenticationContext, other)) == errSecSuccess)
            let context = LAContext()
            for turn in 0..<3 {
                device.present(.applicationPassword("right"))
                #expect(secret(with(context)) == "a", "\(turn)")
                #expect(device.prompts.last?.isWrong == false)
                if turn == 0 { device.present(.finger(1)) }
                device.present(.applicationPassword("other"))
                #expect(secret(account("b", [kSecUseAuthenticationContext: context])) == "b", "\(turn)")
            }
        }
    }

    @Test(
        "AC-46, PC-01: after four wrong ones in a row no other is taken until the delay is over, and none that was set before helps"
    )
    func guessing() throws {
        try device.runUnprompted {
            try addItem()
            let before = LAContext()
            #expect(before.setCredential(Data("right".utf8), type: .applicationPassword))
            func guess(_ password: String) -> OSStatus {
                let context = LAContext()
                #expect(context.setCredential(Data(password.utf8), type: .applicationPassword), "\(password)")
                return Self.read(with(context))
            }
            for number in 0..<3 { #expect(guess("wrong \(number)") == errSecAuthFailed) }
            #expect(guess("right") == errSecSuccess, "the count begins anew")
            for number in 0..<4 { #expect(guess("wrong \(number)") == errSecAuthFailed) }
            let context = LAContext()
            #expect(!context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(Self.read(with(before)) == errSecAuthFailed)
            #expect(Self.read(account("a")) == errSecAuthFailed, "and the owner is not asked")
            device.advance(by: .seconds(59))
            #expect(!context.setCredential(Data("right".utf8), type: .applicationPassword))
            device.advance(by: .seconds(1))
            #expect(guess("wrong 4") == errSecAuthFailed)
            device.advance(by: .seconds(299))
            #expect(!context.setCredential(Data("right".utf8), type: .applicationPassword), "it grows")
            #expect(context.setCredential(nil, type: .applicationPassword))
            device.run(as: "org.example.other") {
                let own = LAContext()
                #expect(own.setCredential(Data("x".utf8), type: .applicationPassword), "another app does not wait")
            }
            device.advance(by: .seconds(1))
            #expect(guess("right") == errSecSuccess)
        }
    }

    @Test("EV-61: Cancel is -128, and nothing is kept") func cancelled() throws {
        try device.run(prompts: 1) {
            try addItem()
            let context = LAContext()
            device.present(.cancel)
            #expect(Self.read(with(context)) == errSecUserCanceled)
            #expect(!context.isCredentialSet(.applicationPassword))
        }
    }

    @Test("EV-61: with UI forbidden -25308, and with nobody there to ask -25293, and no prompt") func nobodyToAsk()
        throws
    {
        try device.runUnprompted {
            try addItem()
            #expect(Self.read(account("a").silent) == errSecInteractionNotAllowed)
            let quiet = LAContext()
            quiet.interactionNotAllowed = true
            #expect(Self.read(with(quiet)) == errSecInteractionNotAllowed)
            device.setAttended(false)
            #expect(Self.read(account("a")) == errSecAuthFailed)
            #expect(Self.read(account("a").silent) == errSecInteractionNotAllowed)
        }
    }

    @Test("EV-61: if the app's own password is wrong, nobody is asked: -25293") func wrongOfTheApp() throws {
        try device.runUnprompted {
            try addItem()
            let context = LAContext()
            #expect(context.setCredential(Data("wrong".utf8), type: .applicationPassword))
            for _ in 0..<2 { #expect(Self.read(with(context)) == errSecAuthFailed) }
        }
    }

    @Test("EV-61: a password that the app has taken away is asked for") func takenAway() throws {
        try device.run(prompts: 1) {
            try addItem()
            let context = LAContext()
            #expect(context.setCredential(Data("wrong".utf8), type: .applicationPassword))
            #expect(Self.read(with(context)) == errSecAuthFailed)
            #expect(context.setCredential(nil, type: .applicationPassword))
            device.present(.applicationPassword("right"))
            #expect(secret(with(context)) == "a")
        }
    }

    @Test("AC-04, EV-61: the finger comes first, in the same prompt") func afterTheFinger() throws {
        try device.run(prompts: 1) {
            try addItem("a", [.biometryAny, .applicationPassword])
            device.present(.finger(1), .applicationPassword("right"))
            #expect(secret(account("a")) == "a")
            #expect(device.prompts.last?.asksForApplicationPassword == true)
        }
    }

    @Test("AC-04, EV-61: the device's passcode does not work as the app's password, nor the other way round")
    func notThePasscode() throws {
        try device.run(prompts: 1) {
            try addItem("a", [.devicePasscode, .applicationPassword])
            // What does not fit the phase does nothing.
            device.present(
                .applicationPassword("right"), .passcode("1234"), .passcode("1234"), .applicationPassword("right"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("AC-21, EV-61: adding asks for the password to be, which then is the only one") func adding() throws {
        try device.run(prompts: 2) {
            device.present(.applicationPassword("typed"))
            let wanted = try item()
            #expect(add(wanted) == errSecSuccess)
            let context = LAContext()
            #expect(context.setCredential(Data("right".utf8), type: .applicationPassword))
            #expect(Self.read(with(context)) == errSecAuthFailed)
            device.present(.applicationPassword("typed"))
            #expect(secret(account("a")) == "a")
        }
    }

    @Test("EV-53: a newer prompt ends the entry with -4, which is -25293 to the keychain") func replaced() async throws
    {
        try addItemOutside()
        let device = device
        let older = elsewhere { device.run { find(account("a").data).status } }
        await eventually { device.prompts.contains(where: \.asksForApplicationPassword) }
        try await device.run {
            let newer = LAContext()
            async let isOwner = newer.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "newer")
            // A finger for the older prompt would be of no use to it, and gone.
            await eventually { device.prompts.count >= 2 }
            device.present(.finger(1))
            let isDone = try await isOwner
            #expect(isDone)
        }
        #expect(await older.value == errSecAuthFailed)
    }

    private func addItemOutside() throws { try device.run { try addItem() } }

    @Test("EV-50: invalidating the context takes the entry down") func invalidated() async throws {
        try addItemOutside()
        // Unsafe for the compiler only: every member of a context may be used from any thread.
        nonisolated(unsafe) let context = device.run { LAContext() }
        let device = device
        let reading = elsewhere {
            device.run { find(account("a", [kSecUseAuthenticationContext: context]).data).status }
        }
        await eventually { device.prompts.contains(where: \.asksForApplicationPassword) }
        context.invalidate()
        #expect(await reading.value == errSecAuthFailed)
        device.run { #expect(find(account("a").silent.data).status == errSecInteractionNotAllowed) }
    }

    @Test("EV-62, EV-61: evaluating such a control asks for the password and keeps it in the context") func evaluating()
        async throws
    {
        try await device.run {
            let context = LAContext()
            device.present(.applicationPassword("right"))
            let isMet = try await context.evaluateAccessControl(
                control(.applicationPassword), operation: .useItem, localizedReason: "r")
            #expect(isMet)
            #expect(context.isCredentialSet(.applicationPassword))
            #expect(device.prompts.last?.reason == "r")
        }
    }
}
