import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct ItemWrapperTests {
    @Test("KC-33: attributes that a query has returned are the next query, and are changed by it")
    func roundTrip() throws {
        try SimulatedDevice().run {
            let wrapper = try ItemWrapper(identifier: "login")
            #expect(wrapper.password == "")
            try wrapper.setObject("me", forKey: kSecAttrAccount)
            try wrapper.setObject(Data("secret".utf8), forKey: kSecValueData)
            #expect(try ItemWrapper(identifier: "login").password == "secret")
            let again = try ItemWrapper(identifier: "login")
            #expect(again.item[kSecAttrAccount as String] as? String == "me")
            try again.setObject(NSData(data: Data("changed".utf8)), forKey: kSecValueData)
            try again.setObject("A label" as NSString, forKey: kSecAttrLabel)
            let third = try ItemWrapper(identifier: "login")
            #expect(third.password == "changed" && third.item[kSecAttrLabel as String] as? String == "A label")
            #expect(try ItemWrapper(identifier: "other").password == "")
            try third.reset()
            try third.reset()
            #expect(try ItemWrapper(identifier: "login").item[kSecAttrLabel as String] == nil)
        }
    }

    @Test("KC-30: the account of another item is refused, and both are as they were")
    func collides() throws {
        try SimulatedDevice().run {
            let mine = try ItemWrapper(identifier: "mine")
            try mine.setObject("me", forKey: kSecAttrAccount)
            let yours = try ItemWrapper(identifier: "yours")
            try yours.setObject("you", forKey: kSecAttrAccount)
            #expect(throws: PasswordError.duplicate) { try yours.setObject("me", forKey: kSecAttrAccount) }
            #expect(try ItemWrapper(identifier: "yours").item[kSecAttrAccount as String] as? String == "you")
            #expect(try ItemWrapper(identifier: "mine").item[kSecAttrAccount as String] as? String == "me")
        }
    }

    @Test("KC-34: a value of a type that no attribute has is refused")
    func wrongType() throws {
        try SimulatedDevice().run {
            let wrapper = try ItemWrapper(identifier: "login")
            #expect(throws: PasswordError.other(errSecParam)) {
                try wrapper.setObject(URL(fileURLWithPath: "/"), forKey: kSecAttrComment)
            }
            #expect(throws: PasswordError.other(errSecParam)) {
                try ItemWrapper(identifier: "login").setObject("no bytes", forKey: kSecValueData)
            }
        }
    }
}
