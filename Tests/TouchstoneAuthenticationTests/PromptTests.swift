import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite(.timeLimit(.minutes(10))) struct PromptTests {
    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    /// The prompt that the context's evaluation shows after so many non-matches.
    private func prompt(
        _ policy: LAPolicy = biometrics, on context: LAContext = LAContext(), misses: Int = 0, reason: String = "test",
        by device: SimulatedDevice? = nil
    ) async throws -> SimulatedDevice.Prompt {
        let device = device ?? self.device
        for miss in 0..<misses {
            if miss > 0 { device.present(.tryAgain) }
            device.present(.nonMatch)
        }
        device.present(.cancel)
        #expect(await evaluate(policy, on: context, reason: reason) == .userCancel)
        return try #require(device.prompts.last)
    }

    // MARK: titles

    static let cancelTitles: [(String?, String)] = [(nil, "Cancel"), ("", "Cancel"), ("Not now", "Not now")]

    @Test(
        "EV-13: no cancel title, and an empty one, are the default", arguments: cancelTitles, [biometrics, deviceOwner])
    func cancelTitle(title: (set: String?, shown: String), policy: LAPolicy) async throws {
        try await device.run {
            let context = LAContext()
            context.localizedCancelTitle = title.set
            #expect(context.localizedCancelTitle == title.set)
            let prompt = try await self.prompt(policy, on: context)
            #expect(prompt.cancelTitle == title.shown)
        }
    }

    static let fallbackTitles: [(LAPolicy, String?, String?)] = [
        (biometrics, nil, "Enter Password"), (biometrics, "", nil), (biometrics, "Use PIN", "Use PIN"),
        (deviceOwner, nil, "Enter Passcode"), (deviceOwner, "", nil), (deviceOwner, "Use PIN", "Use PIN"),
    ]

    @Test(
        "EV-14: no fallback title is the default of the policy, an empty one hides the button, another is shown",
        arguments: fallbackTitles)
    func fallbackTitle(policy: LAPolicy, set: String?, shown: String?) async throws {
        try await device.run {
            let context = LAContext()
            context.localizedFallbackTitle = set
            let prompt = try await self.prompt(policy, on: context, misses: 1)
            #expect(prompt.fallbackTitle == shown)
        }
    }

    @Test("EV-14: a hidden fallback cannot be chosen")
    func hiddenFallback() async throws {
        await device.run {
            let context = LAContext()
            context.localizedFallbackTitle = ""
            device.present(.nonMatch, .fallback, .finger(1))
            #expect(await evaluate(biometrics, on: context) == nil)
        }
    }

    @Test(
        "EV-15: Touch ID offers the fallback after the first non-match, and not before",
        arguments: [biometrics, deviceOwner])
    func touchFallback(policy: LAPolicy) async throws {
        try await device.run {
            let first = try await self.prompt(policy)
            #expect(first.fallbackTitle == nil)
            let second = try await self.prompt(policy, misses: 1)
            #expect(second.fallbackTitle != nil)
            device.present(.fallback, .finger(1))
            #expect(await evaluate(policy) == nil, "what is not offered cannot be chosen")
        }
    }

    @Test("EV-16: Face ID offers the fallback after the second miss, and not after the first")
    func faceFallback() async throws {
        let device = try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1)
        try await device.run {
            let first = try await self.prompt(misses: 1, by: device)
            #expect(first.fallbackTitle == nil)
            let second = try await self.prompt(misses: 2, by: device)
            #expect(second.fallbackTitle == "Enter Password")
        }
    }

    @Test("EV-13, EV-14: titles lose what could make them look like something else, and are never left empty")
    func titlesAreCleaned() async throws {
        try await device.run {
            let context = LAContext()
            context.localizedCancelTitle = "\u{1B}[31mNo\u{202E}"
            context.localizedFallbackTitle = "PIN\u{7}\u{2066}"
            let prompt = try await self.prompt(on: context, misses: 1)
            #expect(prompt.cancelTitle == "[31mNo")
            #expect(prompt.fallbackTitle == "PIN")
            context.localizedCancelTitle = "\u{200B}"
            context.localizedFallbackTitle = "\u{202E}"
            let blank = try await self.prompt(on: context, misses: 1)
            #expect(blank.cancelTitle == "Cancel")
            #expect(blank.fallbackTitle == "Enter Password")
        }
    }

    // MARK: reason and app

    @Test("EV-10: the prompt names the app as the device knows it, and says the reason")
    func appAndReason() async throws {
        try await device.run {
            let prompt = try await self.prompt(reason: "open the safe")
            #expect(prompt.app == ProcessInfo.processInfo.processName)
            #expect(prompt.reason == "open the safe")
        }
        try await device.run(as: "org.example.Safe") {
            let prompt = try await self.prompt(reason: "\"Bank\" is trying to")
            #expect(prompt.app == "org.example.Safe")
        }
    }

    static let reasons: [(String, String)] = [
        ("open\u{0}\u{1}\u{1B}[2J\u{7F}\u{9B} it", "open[2J it"),
        ("pay \u{202E}001\u{202C}\u{2066}\u{2069}\u{200E}\u{200F} now", "pay 001 now"),
        ("zero\u{200B}width\u{FEFF}", "zerowidth"),
        ("one\ntwo\r\nthree\u{2028}four\tfive", "one two three four five"),
        ("öffne den Tresor 🔒 für 名前", "öffne den Tresor 🔒 für 名前"),
        ("tag\u{E0001}\u{E0061}\u{E007F}s and \u{FFF9}notes\u{FFFB}", "tags and notes"),
        (
            "soft\u{AD}hyphen, joined\u{200D}up, \u{180E}mongolian, \u{2060}word",
            "softhyphen, joinedup, mongolian, word"
        ),
        ("private \u{E000}\u{F8FF}\u{100000} use, un\u{378}assigned", "private  use, unassigned"),
        ("wide\u{3000}and\u{A0}narrow\u{2009}spaces", "wide and narrow spaces"),
        (String(repeating: "\n", count: 5000) + "end", " end"),
        ("שלום and مرحبا", "שלום and مرحبا"),
        // Letters that look like others are letters: the verified words stand apart instead.
        ("p\u{430}yp\u{430}l", "p\u{430}yp\u{430}l"),
        (String(repeating: "a", count: 256), String(repeating: "a", count: 256)),
        (String(repeating: "a", count: 257), String(repeating: "a", count: 256) + "…"),
        (String(repeating: "é", count: 10_000), String(repeating: "é", count: 256) + "…"),
    ]

    @Test(
        "EV-10: the reason loses control characters and direction overrides, and the end where it is long",
        arguments: reasons)
    func reasonIsCleaned(reason: String, shown: String) async throws {
        try await device.run {
            let prompt = try await self.prompt(reason: reason)
            #expect(prompt.reason == shown)
        }
    }

    @Test("EV-10: one character piled high with marks is no way round the length")
    func piledMarks() async throws {
        try await device.run {
            let reason = "a" + String(repeating: "\u{0301}", count: 20_000)
            let prompt = try await self.prompt(reason: reason)
            #expect(prompt.reason.unicodeScalars.count <= 1024 + 1, "and the ellipsis")
        }
    }

    @Test("EV-21: a keychain read shows the context's reason, an evaluation the one it is given")
    func reasonOfTheContext() async throws {
        try await device.run {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a",
                kSecAttrAccessControl as String: control, kSecValueData as String: Data("secret".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let context = LAContext()
            context.localizedReason = "read the secret"
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true,
                kSecUseAuthenticationContext as String: context,
            ]
            device.present(.cancel)
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecUserCanceled)
            #expect(device.prompts.last?.reason == "read the secret")
            let prompt = try await self.prompt(on: context, reason: "open the safe")
            #expect(prompt.reason == "open the safe")
        }
    }

    @Test("2.1: the prompt counts the non-matches of its own evaluation")
    func failuresAreCounted() async throws {
        try await device.run {
            let first = try await self.prompt(misses: 2)
            #expect(first.failures == 2)
            let second = try await self.prompt(misses: 1)
            #expect(second.failures == 1)
        }
    }
}
