import Foundation
import Testing
import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// Another spelling of the same characters is another app, wherever the enclave decides by an app (KC-42).
@Suite struct SpellingTests {
    private static let one: AppIdentifier = "/opt/caf\u{e9}"
    private static let other: AppIdentifier = "/opt/cafe\u{301}"
    private var enclave: Enclave

    init() throws { enclave = try Enclave.device() }

    private func item(_ group: AccessGroup, _ flags: AccessControl.Flags, context: String? = nil) throws
        -> Enclave.WrappedItem
    {
        let binding = Enclave.ItemBinding(accessGroup: group, item: Data("item".utf8))
        let control = try AccessControl(protection: .whenUnlocked, flags: flags)
        let key = try enclave.wrap(
            .init(accessControl: control, binding: binding, key: Data(0..<32), app: Self.one, context: context), now: 0)
        return .init(wrappedKey: key, binding: binding)
    }

    @Test("KC-42: what was proven to an app's context opens its items for it alone") mutating func proof() throws {
        let context = try enclave.proven(.deviceOwner, app: Self.one)
        let mine = try item(Self.one, .userPresence)
        #expect(enclave.unwrap(mine, app: Self.one, context: context).state == .open)
        #expect(enclave.unwrap(mine, app: Self.other, context: context).state == .authenticationNeeded)
        // And no item of the other's group.
        let theirs = try item(Self.other, .userPresence)
        #expect(enclave.unwrap(theirs, app: Self.one, context: context).state == .authenticationNeeded)
    }

    @Test("EV-30: a proof counts for the app that gave it, and its context is unknown to the other")
    mutating func evaluation() throws {
        let context = try enclave.proven(.deviceOwner, app: Self.one)
        let verdicts = [Self.one, Self.other].map {
            enclave.preflight(.init(context: context, app: $0, requirement: .deviceOwner, reuseDuration: 0), now: 0)
        }
        #expect(verdicts == [.satisfied, .refused(.contextInvalidated)])
        #expect(throws: (any Error).self) { _ = try enclave.begin(.deviceOwner, app: Self.other, context: context) }
    }

    @Test("AC-21: an application password is the context's of the app that set it") mutating func password() throws {
        let context = enclave.createContext(app: Self.one, accessGroups: [Self.one])
        let entry = try seal(
            "password", to: enclave.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
        #expect(throws: (any Error).self) {
            try enclave.setCredential(entry, context: context, app: Self.other, now: 0)
        }
        let job = try #require(try enclave.setCredential(entry, context: context, app: Self.one, now: 0))
        _ = enclave.finishCredential(job, key: try job.run())
        #expect(enclave.isCredentialSet(context: context, app: Self.one))
        #expect(!enclave.isCredentialSet(context: context, app: Self.other))
        #expect(enclave.credential(of: context, app: Self.other) == nil)
    }

    @Test("AC-21: wrong application passwords are counted for the app that tried them") mutating func guesses() {
        while enclave.passwordRetryAfter(app: Self.one, now: 0) == nil { enclave.passwordFailed(app: Self.one, now: 0) }
        #expect(enclave.passwordRetryAfter(app: Self.other, now: 0) == nil)
        #expect(!enclave.hasGuessedPasswords(app: Self.other))
        enclave.passwordWorked(app: Self.other)
        #expect(enclave.passwordRetryAfter(app: Self.one, now: 0) != nil)
    }

    @Test("Contexts of an app give way to its own newer ones, not to another's") mutating func contexts() {
        let most = Enclave.Limits.contextsPerApp
        let mine = enclave.createContext(app: Self.one, accessGroups: [Self.one])
        for _ in 0..<most { _ = enclave.createContext(app: Self.other, accessGroups: [Self.other]) }
        #expect(enclave.contexts[mine] != nil && enclave.contexts.byIdentifier.count == most + 1)
        for _ in 0..<most { _ = enclave.createContext(app: Self.one, accessGroups: [Self.one]) }
        #expect(enclave.contexts.byIdentifier.count == 2 * most)
    }

    @Test("All apps together have so many contexts; then one goes of the app that has most")
    mutating func contextsOfAll() {
        let mine = enclave.createContext(app: Self.one, accessGroups: [Self.one])
        let (most, all) = (Enclave.Limits.contextsPerApp, Enclave.Limits.contexts)
        for number in 0..<all / most {
            let app = AppIdentifier("/copy/\(number)")
            for _ in 0..<most { _ = enclave.createContext(app: app, accessGroups: []) }
        }
        #expect(enclave.contexts.byIdentifier.count == all)
        let another = enclave.createContext(app: Self.other, accessGroups: [])
        #expect(enclave.contexts.byIdentifier.count == all)
        #expect(enclave.contexts[mine] != nil && enclave.contexts[another] != nil)
        // What ends is counted no more.
        for identifier in enclave.contexts.byIdentifier.keys { _ = enclave.invalidateContext(identifier) }
        #expect(enclave.contexts.byIdentifier.isEmpty)
        for _ in 0..<most { _ = enclave.createContext(app: Self.one, accessGroups: []) }
        #expect(enclave.contexts.byIdentifier.count == most)
    }

    @Test("What two apps did is counted apart in the log") func log() throws {
        var chain = LogChain(key: .init(size: .bits256), boot: Data(count: 8), kept: nil)
        chain.resume(newestLines: [])
        for app in [Self.one, Self.other, Self.one] {
            chain.note(LogFact(event: .itemOpened, app: app, isRepeatable: true))
        }
        let lines = chain.lines(now: 0, date: Date(timeIntervalSinceReferenceDate: 0))
        let told = lines.compactMap(LogEntry.init(line:)).compactMap(\.app)
        #expect(told.map { AppIdentifier($0) } == [Self.one, Self.other])
    }
}
