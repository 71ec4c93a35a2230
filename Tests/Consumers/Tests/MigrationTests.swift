import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct MigrationTests {
    @Test("KC-33: a service is renamed with all of its items, and only its own")
    func renames() throws {
        try SimulatedDevice().run { () throws in
            for account in ["a", "b", "c"] { Passwords(service: "old")[account] = account }
            Passwords(service: "other")["a"] = "other"
            try Migration.rename(service: "old", to: "new")
            #expect(try Passwords(service: "new").accounts() == ["a", "b", "c"])
            #expect(Passwords(service: "new")["b"] == "b")
            #expect(try Passwords(service: "old").accounts().isEmpty)
            #expect(Passwords(service: "other")["a"] == "other")
            try Migration.rename(service: "old", to: "new")
        }
    }

    @Test("KC-30, KC-31: a name that is taken refuses all, and nothing has moved")
    func renamesNothing() throws {
        try SimulatedDevice().run { () throws in
            for account in ["a", "b", "c"] { Passwords(service: "old")[account] = account }
            Passwords(service: "new")["b"] = "mine"
            #expect(throws: Migration.Failure.keychain(errSecDuplicateItem)) {
                try Migration.rename(service: "old", to: "new")
            }
            #expect(try Passwords(service: "old").accounts() == ["a", "b", "c"])
            #expect(try Passwords(service: "new").accounts() == ["b"])
            #expect(Passwords(service: "new")["b"] == "mine")
        }
    }

    @Test("KC-20, KC-21: items made readable after the first unlock are, and were not before")
    func protects() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run { () throws in
            Passwords(service: "app")["a"] = "a"
            Passwords(service: "app")["b"] = "b"
            try device.lock()
            device.advance(by: .seconds(60))
            #expect(Passwords(service: "app")["a"] == nil)
            #expect(throws: Migration.Failure.keychain(errSecInteractionNotAllowed)) {
                try Migration.protect(service: "app", kSecAttrAccessibleAfterFirstUnlock)
            }
            try device.unlock(passcode: "1234")
            #expect(try Migration.protect(service: "app", kSecAttrAccessibleAfterFirstUnlock) == 2)
            #expect(try Migration.protect(service: "app", kSecAttrAccessibleAfterFirstUnlock) == 0)
            try device.lock()
            device.advance(by: .seconds(60))
            #expect(Passwords(service: "app")["a"] == "a" && Passwords(service: "app")["b"] == "b")
        }
    }

    @Test("KC-23: where there is no passcode, nothing is moved to the class that needs one")
    func protectsNothing() throws {
        try SimulatedDevice().run { () throws in
            Passwords(service: "app")["a"] = "a"
            #expect(throws: Migration.Failure.self) {
                try Migration.protect(service: "app", kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly)
            }
            #expect(Passwords(service: "app")["a"] == "a")
        }
    }

    @Test("Items found by a query are copied by their persistent references and deleted")
    func moves() throws {
        try SimulatedDevice().run { () throws in
            Passwords(service: "old", accessibility: kSecAttrAccessibleAfterFirstUnlock)["a"] = "1"
            Passwords(service: "old", accessibility: kSecAttrAccessibleAfterFirstUnlock)["b"] = "2"
            Passwords(service: "old")["c"] = "3"
            let query: [String: AnyHashable] = [
                kSecAttrService as String: "old",
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock as String,
            ]
            #expect(try Migration.move(matching: query, into: "new") == ["a", "b"])
            #expect(Passwords(service: "new")["a"] == "1" && Passwords(service: "new")["b"] == "2")
            #expect(try Passwords(service: "old").accounts() == ["c"])
            #expect(try Migration.move(matching: query, into: "new") == [])
        }
    }

    @Test("KC-31: what is there already is not written over, and what had been copied is taken back")
    func movesNothing() throws {
        try SimulatedDevice().run { () throws in
            for account in ["a", "b"] { Passwords(service: "old")[account] = account }
            Passwords(service: "new")["b"] = "mine"
            #expect(throws: Migration.Failure.keychain(errSecDuplicateItem)) {
                try Migration.move(matching: [kSecAttrService as String: "old"], into: "new")
            }
            #expect(try Passwords(service: "old").accounts() == ["a", "b"])
            #expect(try Passwords(service: "new").accounts() == ["b"])
            #expect(Passwords(service: "new")["b"] == "mine")
        }
    }

    @Test("A file becomes an item and goes; where the item is refused, the file stays")
    func adoptsAFile() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try SimulatedDevice().run { () throws in
            try Migration.adopt(file, service: "app", account: "token")
            try Data("\"abc\"".utf8).write(to: file)
            try Migration.adopt(file, service: "app", account: "token")
            #expect(!FileManager.default.fileExists(atPath: file.path))
            #expect(Passwords(service: "app")["token"] == "abc")
            try Data("\"new\"".utf8).write(to: file)
            #expect(throws: Migration.Failure.keychain(errSecDuplicateItem)) {
                try Migration.adopt(file, service: "app", account: "token")
            }
            #expect(FileManager.default.fileExists(atPath: file.path))
            #expect(Passwords(service: "app")["token"] == "abc")
        }
    }
}
