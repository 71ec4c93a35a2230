import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct StoredTests {
    @Test("Properties are kept under their accounts, for the next instance too")
    func properties() throws {
        try SimulatedDevice().run {
            let session = Session()
            #expect(session.token == nil && session.attempts == 0 && session.scopes.isEmpty)
            #expect(session.$token == errSecItemNotFound)
            session.token = "abc"
            session.attempts += 1
            session.attempts += 1
            session.scopes = ["read", "write"]
            #expect(session.$attempts == errSecSuccess)
            let next = Session()
            #expect(next.token == "abc" && next.attempts == 2 && next.scopes == ["read", "write"])
            next.token = nil
            #expect(next.$token == errSecSuccess)
            #expect(session.token == nil && session.$token == errSecItemNotFound)
            #expect(session.attempts == 2)
        }
    }

    @Test("KC-20: locked, a property has its initial value and its status says why; what is stored stays")
    func locked() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            let session = Session()
            session.scopes = ["read"]
            session.attempts = 3
            try device.lock()
            device.advance(by: .seconds(60))
            #expect(session.scopes.isEmpty && session.$scopes == errSecInteractionNotAllowed)
            #expect(session.attempts == 3 && session.$attempts == errSecSuccess)
            session.scopes = ["write"]
            #expect(session.$scopes == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            #expect(session.scopes == ["read"])
        }
    }

    @Test("KC-20: before the first unlock a property has its initial value")
    func beforeFirstUnlock() throws {
        let device = try SimulatedDevice(passcode: "1234")
        try device.run {
            let session = Session()
            session.attempts = 4
            device.reboot()
            #expect(session.attempts == 0 && session.$attempts == errSecInteractionNotAllowed)
            try device.unlock(passcode: "1234")
            #expect(session.attempts == 4)
        }
    }
}
