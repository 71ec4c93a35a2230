import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct PasswordsTests {
    struct Token: Codable, Equatable {
        var value: String
        var expires: Date
    }

    @Test("KC-31, KC-33: values of any type are added, changed in place and come back")
    func roundTrip() throws {
        try SimulatedDevice().run {
            let passwords = Passwords(service: "app")
            let token = Token(value: "abc", expires: Date(timeIntervalSinceReferenceDate: 5))
            #expect(try passwords.load(Token.self, "token") == nil)
            try passwords.save(token, as: "token")
            #expect(try passwords.load(Token.self, "token") == token)
            try passwords.save([1, 2, 3], as: "token")
            #expect(try passwords.load([Int].self, "token") == [1, 2, 3])
            #expect(throws: PasswordError.notReadable) { try passwords.load(Token.self, "token") }
            #expect(try passwords.contains("token"))
            try passwords.remove("token")
            #expect(try !passwords.contains("token"))
            try passwords.remove("token")
        }
    }

    @Test("A subscript sets, reads and deletes")
    func subscripts() throws {
        try SimulatedDevice().run {
            let passwords = Passwords(service: "app")
            passwords["me"] = "secret"
            #expect(passwords["me"] == "secret")
            #expect(Passwords(service: "another app")["me"] == nil)
            passwords["me"] = nil
            #expect(passwords["me"] == nil)
            let accounts = try passwords.accounts()
            #expect(accounts.isEmpty)
        }
    }

    @Test("KC-33: all accounts of a service, in the order of their making; those of another are not among them")
    func accounts() throws {
        try SimulatedDevice().run {
            let passwords = Passwords(service: "app")
            let accounts = (0..<20).map { "account \($0)" }
            for account in accounts { try passwords.save(account, as: account) }
            try Passwords(service: "other").save(1, as: "foreign")
            #expect(try passwords.accounts() == accounts)
            try passwords.save("changed", as: accounts[3])
            #expect(try passwords.accounts() == accounts)
            try passwords.remove(nil)
            #expect(try passwords.accounts().isEmpty)
            #expect(try Passwords(service: "other").accounts() == ["foreign"])
        }
    }

    @Test("Attributes come back in the types they went in")
    func attributes() throws {
        try SimulatedDevice().run {
            var passwords = Passwords(service: "app", accessibility: kSecAttrAccessibleAfterFirstUnlock)
            passwords.extra = [
                kSecAttrLabel as String: "A label", kSecAttrComment as String: "A comment" as NSString,
                kSecAttrCreator as String: OSType(0x5445_5354), kSecAttrType as String: "a type",
                kSecAttrGeneric as String: Data([1, 2]) as CFData, kSecAttrIsNegative as String: kCFBooleanTrue!,
            ]
            try passwords.save("x", as: "me")
            let found = try #require(try passwords.attributes(of: "me"))
            #expect(found.account == "me" && found.label == "A label" && found.comment == "A comment")
            #expect(found.creator == 0x5445_5354)
            #expect(found[kSecAttrType] as? String == "a type", "a text that is no number stays a text")
            #expect(found.generic?.isEqual(to: Data([1, 2])) == true)
            #expect(found.isNegative == true && found.isSynchronizable == false)
            #expect(found.accessible == kSecAttrAccessibleAfterFirstUnlock)
            #expect(found.accessControl.map { CFGetTypeID($0) } == SecAccessControlGetTypeID())
            #expect(found.created != nil && found.persistentReference?.isEmpty == false)
            #expect(found.data == nil && found.reference == nil, "a password has no reference")
            #expect(found[kSecAttrService] as? String == "app" && found[kSecAttrServer] == nil)
            #expect(try passwords.attributes(of: "me", withData: true)?.data != nil)
            #expect(try passwords.attributes(of: "you") == nil)
        }
    }

    @Test("KC-20: saving with another class of protection moves the item to it")
    func changesClass() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run { () throws in
            try Passwords(service: "app").save("x", as: "me")
            try Passwords(service: "app", accessibility: kSecAttrAccessibleAfterFirstUnlock).save("y", as: "me")
            let attributes = try Passwords(service: "app").attributes(of: "me")
            #expect(attributes?.accessible == kSecAttrAccessibleAfterFirstUnlock)
            try device.lock()
            device.advance(by: .seconds(60))
            #expect(Passwords(service: "app")["me"] == "y")
        }
    }

    @Test("KC-33: synchronizable items are found by those who ask for them")
    func synchronizable() throws {
        try SimulatedDevice().run {
            let here = Passwords(service: "app")
            let everywhere = Passwords(service: "app", isSynchronizable: true)
            try everywhere.save("everywhere", as: "a")
            #expect(try here.load(String.self, "a") == nil)
            try here.save("here", as: "b")
            #expect(try Set(everywhere.accounts()) == ["a", "b"])
            #expect(try here.accounts() == ["b"])
        }
    }

    @Test("KC-40, KC-42: the group of the app is named, another is refused, and another app finds nothing")
    func groups() throws {
        let device = try SimulatedDevice()
        try device.run {
            try Passwords(service: "app").save("x", as: "me")
            let group = try #require(
                try Passwords(service: "app").attributes(of: "me")?[kSecAttrAccessGroup] as? String)
            #expect(try Passwords(service: "app", group: group).load(String.self, "me") == "x")
            #expect(throws: PasswordError.other(errSecMissingEntitlement)) {
                try Passwords(service: "app", group: "ABCDE12345.other").load(String.self, "me")
            }
            #expect(throws: PasswordError.other(errSecMissingEntitlement)) {
                try Passwords(service: "app", group: "ABCDE12345.other").save("x", as: "you")
            }
        }
        let found = device.run(as: "another") { Passwords(service: "app")["me"] }
        #expect(found == nil)
    }

    @Test("KC-20: what is for the unlocked device only is locked with it, and the error says so in words")
    func locked() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            try Passwords(service: "app").save("x", as: "me")
            try Passwords(service: "background", accessibility: kSecAttrAccessibleAfterFirstUnlock).save("y", as: "me")
            try device.lock()
            device.advance(by: .seconds(60))
            #expect(throws: PasswordError.locked) { try Passwords(service: "app").load(String.self, "me") }
            #expect(throws: PasswordError.locked) { try Passwords(service: "app").save("z", as: "me") }
            #expect(try Passwords(service: "background").load(String.self, "me") == "y")
            try device.unlock(passcode: "1234")
            #expect(Passwords(service: "app")["me"] == "x")
        }
        #expect(PasswordError.locked.errorDescription == PasswordError.message(errSecInteractionNotAllowed))
        #expect(PasswordError(errSecDuplicateItem) == .duplicate)
        #expect(PasswordError.message(errSecItemNotFound) != PasswordError.message(errSecDuplicateItem))
        #expect((PasswordError.missing as any Error).localizedDescription == PasswordError.missing.errorDescription)
    }
}
