import Crypto
import Dispatch
import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneMemory

@testable import TouchstoneEnclave
@testable import TouchstoneEnclaveHost

/// Application passwords, as the enclave holds them.
@Suite struct CredentialTests {
    private static let binding = Enclave.ItemBinding(accessGroup: "app", item: Data("item".utf8))
    private static let key = Data(0..<32)
    private var enclave: Enclave

    init() throws { enclave = try Enclave.device() }

    private func sealed(_ password: String, for context: String, in enclave: Enclave) throws -> SealedPasscode {
        try seal(password, to: enclave.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
    }

    private mutating func context(_ password: String, app: AppIdentifier = "app") throws -> String {
        let context = enclave.createContext(app: app, accessGroups: [app])
        let entry = try sealed(password, for: context, in: enclave)
        let job = try #require(try enclave.setCredential(entry, context: context, app: app, now: 0))
        _ = enclave.finishCredential(job, key: try job.run())
        return context
    }

    private func wrap(_ flags: AccessControl.Flags = .applicationPassword, context: String?) throws
        -> Enclave.WrappedItem
    {
        let wrapped = try enclave.wrap(
            .init(
                accessControl: .init(protection: .whenUnlocked, flags: flags), binding: Self.binding, key: Self.key,
                app: "app", context: context), now: 0)
        return .init(wrappedKey: wrapped, binding: Self.binding)
    }

    private func expectRefusal(
        _ reason: Enclave.RefusalReason, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        do {
            try body()
            Issue.record("not refused", sourceLocation: sourceLocation)
        } catch {
            #expect((error as? Enclave.Refused)?.reason == reason, sourceLocation: sourceLocation)
        }
    }

    @Test("AC-04: the class key alone does not hold the item's key: the password is mixed into it")
    mutating func mixedIn() throws {
        let context = try context("right")
        let item = try wrap(context: context)
        let classKey = try #require(enclave.keys[.whenUnlocked])
        let bound = Data("io.touchstone item key 2 6 3 app".utf8) + Self.binding.item
        let outer = Data("io.touchstone item key 4 6 1 3 app".utf8) + Self.binding.item
        let plain = try #require(classKey.open(item.wrappedKey.dropFirst(6), context: outer)).unprotectedCopy
        #expect(plain.count == 100)
        #expect(plain.range(of: Self.key) == nil)
        let opened = enclave.unwrap(item, app: "app", context: context)
        #expect((opened.state, opened.key) == (.open, Self.key))
        // The place of the key opens with what this password gives this item, and with nothing near it.
        let right = try #require(enclave.credential(of: context, app: "app"))
        let other = Enclave.ItemBinding(accessGroup: "app", item: Data("tem".utf8))
        #expect(right.itemKey(Self.binding).open(plain.prefix(60), context: bound)?.unprotectedCopy == Self.key)
        #expect(right.itemKey(other).open(plain.prefix(60), context: bound) == nil)
        #expect(right.open(plain.prefix(60), context: bound) == nil)
    }

    @Test("AC-46: the wrong password does not open the key, and is told from a missing one")
    mutating func wrongPassword() throws {
        let right = try context("right")
        let item = try wrap(context: right)
        let wrongContext = try context("wrong")
        let wrong = enclave.unwrap(item, app: "app", context: wrongContext)
        #expect((wrong.state, wrong.key, wrong.isPasswordWrong) == (.authenticationNeeded, nil, true))
        let bare = enclave.createContext(app: "app", accessGroups: ["app"])
        let missing = enclave.unwrap(item, app: "app", context: bare)
        #expect((missing.state, missing.key, missing.isPasswordWrong) == (.authenticationNeeded, nil, false))
        #expect(enclave.unwrap(item, app: "app", context: nil).state == .authenticationNeeded)
        let again = try context("right")
        #expect(enclave.unwrap(item, app: "app", context: again).state == .open)
    }

    @Test("AC-04: the same password on another device opens nothing")
    mutating func otherDevice() throws {
        let right = try context("right")
        let item = try wrap(context: right)
        let first = enclave
        enclave = try Enclave.device(root: TestRoot(2))
        let context = try context("right")
        let second = enclave
        #expect(second.unwrap(item, app: "app", context: context).state == .gone)
        // The salt is the device's own.
        let key = try #require(second.credential(of: context, app: "app"))
        let own = try #require(first.credential(of: right, app: "app"))
        #expect(!own.isEqual(to: key))
    }

    @Test("A flipped bit anywhere is gone, and so is the version of a key without a password")
    mutating func tampered() throws {
        let context = try context("right")
        let item = try wrap(context: context)
        for index in item.wrappedKey.indices {
            var changed = item
            changed.wrappedKey[index] ^= 1
            #expect(enclave.unwrap(changed, app: "app", context: context).state == .gone, "byte \(index)")
        }
        var plain = item
        plain.wrappedKey[0] = 3
        #expect(enclave.unwrap(plain, app: "app", context: context).state == .gone)
    }

    @Test("AC-48: without a password in the app's own context nothing is wrapped")
    mutating func wrappingWithout() throws {
        let foreign = try context("right", app: "other")
        for context in [nil, "made up", foreign, enclave.createContext(app: "app", accessGroups: ["app"])] {
            #expect { try wrap(context: context) } throws: {
                ($0 as? Enclave.NotWrapped)?.status == .authNeeded
            }
        }
    }

    @Test("What was sealed for one context is good for no other, for no other app, and for nothing else")
    mutating func sealedForAnother() throws {
        let mine = enclave.createContext(app: "app", accessGroups: ["app"])
        let other = enclave.createContext(app: "app", accessGroups: ["app"])
        let entry = try sealed("right", for: mine, in: enclave)
        expectRefusal(.staleNonce) {
            _ = try enclave.setCredential(entry, context: other, app: "app", now: 0)
        }
        #expect(throws: Enclave.InvalidContext.self) {
            try enclave.setCredential(entry, context: mine, app: "other", now: 0)
        }
        let typed = try seal("1234", to: enclave.passcodePublicKey(), nonce: enclave.freshNonce(), for: .unlock)
        expectRefusal(.staleNonce) {
            _ = try enclave.setCredential(typed, context: mine, app: "app", now: 0)
        }
        expectRefusal(.staleNonce) { _ = try enclave.unlock(entry, now: 0) }
        let long = try sealed(String(repeating: "x", count: 257), for: mine, in: enclave)
        expectRefusal(.passcodeTooLong) {
            _ = try enclave.setCredential(long, context: mine, app: "app", now: 0)
        }
        #expect(!enclave.isCredentialSet(context: mine, app: "app"))
    }

    @Test("EV-60: of several passwords the last one counts, and one taken away does not come back")
    mutating func lastOneCounts() throws {
        let context = enclave.createContext(app: "app", accessGroups: ["app"])
        let jobs = try ["first", "second"].map {
            try #require(
                try enclave.setCredential(
                    sealed($0, for: context, in: enclave), context: context, app: "app", now: 0))
        }
        let second = try jobs[1].run()
        _ = enclave.finishCredential(jobs[1], key: second)
        _ = enclave.finishCredential(jobs[0], key: try jobs[0].run())
        #expect(enclave.credential(of: context, app: "app")?.isEqual(to: second) == true)
        let third = try #require(
            try enclave.setCredential(
                sealed("third", for: context, in: enclave), context: context, app: "app", now: 0))
        #expect(try enclave.setCredential(nil, context: context, app: "app", now: 0) == nil)
        _ = enclave.finishCredential(third, key: try third.run())
        #expect(!enclave.isCredentialSet(context: context, app: "app"))
    }

    @Test("Of one app so many passwords wait to be stretched, and another app's are taken")
    mutating func flood() throws {
        let context = enclave.createContext(app: "app", accessGroups: ["app"])
        let entry = try sealed("x", for: context, in: enclave)
        var jobs: [Enclave.CredentialJob] = []
        expectRefusal(.busy) {
            for _ in 0...Enclave.Limits.credentialJobsPerApp {
                jobs += [
                    try #require(try enclave.setCredential(entry, context: context, app: "app", now: 0))
                ]
            }
        }
        #expect(jobs.count == Enclave.Limits.credentialJobsPerApp)
        let other = enclave.createContext(app: "other", accessGroups: ["other"])
        let others = try sealed("x", for: other, in: enclave)
        #expect(try enclave.setCredential(others, context: other, app: "other", now: 0) != nil)
        for job in jobs { _ = enclave.finishCredential(job, key: nil) }
        #expect(throws: Never.self) {
            try enclave.setCredential(entry, context: context, app: "app", now: 0)
        }
    }

    @Test("Of all apps no more wait than there is room for")
    mutating func floodOfManyApps() throws {
        var taken = 0
        expectRefusal(.busy) {
            for number in 0...Enclave.Limits.credentialJobs {
                let app: AppIdentifier = "app \(number)"
                let context = enclave.createContext(app: app, accessGroups: [app])
                let entry = try sealed("x", for: context, in: enclave)
                if try enclave.setCredential(entry, context: context, app: app, now: 0) != nil { taken += 1 }
            }
        }
        #expect(taken == Enclave.Limits.credentialJobs)
    }

    @Test("An app whose passwords wait keeps another's waiting for one of them")
    func oneAppAfterTheOther() throws {
        let root = TestRoot()
        let host = try EnclaveHost(
            storage: TestStorage(try Enclave.create(isSimulated: true, biometryType: .touchID, root: root)),
            root: root, clock: StandingClock(), newPasscodeCost: { .minimum })
        let told = Mutex<[String]>([])
        let happened = DispatchSemaphore(value: 0)
        host.watch { event in
            if let ticket = event.ticket { told.withLock { $0.append(ticket) } }
            happened.signal()
        }
        host.credentials.suspend()
        func set(_ app: AppIdentifier) throws -> String {
            let context = try host.change { enclave, _ in (enclave.createContext(app: app, accessGroups: [app]), []) }
            let entry = try seal(
                "x", to: host.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
            return try #require(
                try host.setCredential(entry, context: context, app: app))
        }
        let first = try (0..<Enclave.Limits.credentialJobsPerApp).map { _ in try set("greedy") }
        let second = try set("other")
        host.credentials.resume()
        for _ in 0...first.count { #expect(happened.wait(timeout: .now() + 300) == .success) }
        #expect(told.withLock { $0 } == [first[0], first[1], second] + first[2...])
    }

    @Test("While a password is stretched every other call is answered; its event comes after")
    func nothingWaits() throws {
        let root = TestRoot()
        let storage = TestStorage(try Enclave.create(isSimulated: true, biometryType: .touchID, root: root))
        let host = try EnclaveHost(
            storage: storage, root: root, clock: StandingClock(), newPasscodeCost: { .minimum })
        let told = Mutex<[EnclaveEvent]>([])
        let happened = DispatchSemaphore(value: 0)
        host.watch { event in
            told.withLock { $0.append(event) }
            happened.signal()
        }
        host.credentials.suspend()
        let context = try host.change { enclave, _ in (enclave.createContext(app: "app", accessGroups: ["app"]), []) }
        let entry = try seal(
            "x", to: host.passcodePublicKey(), nonce: Data(), for: .credential(context: context))
        let ticket = try host.setCredential(entry, context: context, app: "app")
        #expect(ticket != nil)
        #expect(host.read { enclave, now in enclave.facts(app: "app", now: now) }.isSimulated)
        #expect(host.read { enclave, _ in enclave.isCredentialSet(context: context, app: "app") } == false)
        #expect(told.withLock { $0.isEmpty })
        host.credentials.resume()
        #expect(happened.wait(timeout: .now() + 300) == .success)
        #expect(told.withLock { $0.map(\.ticket) } == [ticket])
        #expect(told.withLock { $0.map(\.outcome) } == [.succeeded])
        #expect(host.read { enclave, _ in enclave.isCredentialSet(context: context, app: "app") })
        #expect(storage.versions.count == 1, "nothing of it is on the disk")
    }
}
