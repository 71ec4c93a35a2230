import Foundation
import Security
import Testing
import TouchstoneTesting

@Suite struct CredentialStoreTests {
    let store = CredentialStore()
    let mail = Credential(
        user: "me", password: "one", server: URL(string: "imaps://mail.example.com:993")!, scheme: .imaps)
    let web = Credential(
        user: "me", password: "two", server: URL(string: "https://example.com/area")!,
        authentication: kSecAttrAuthenticationTypeHTTPBasic, realm: "Members")

    @Test("Credentials come back whole: port, path, scheme, kind and realm")
    func roundTrip() throws {
        try SimulatedDevice().run {
            try store.save(mail)
            try store.save(web)
            #expect(try store.credentials() == [mail, web])
            #expect(try store.credentials(host: "example.com") == [web])
            #expect(try store.credentials(host: "mail.example.com").first?.server.port == 993)
            #expect(try store.credentials(host: "nowhere.example.com").isEmpty)
        }
    }

    @Test("KC-30: each of account, realm, server, scheme, kind, port and path makes another item")
    func identities() throws {
        try SimulatedDevice().run {
            var all = [web]
            var other = web
            other.user = "you"
            all.append(other)
            other = web
            other.realm = "Guests"
            all.append(other)
            other = web
            other.server = URL(string: "https://example.org/area")!
            all.append(other)
            other = web
            other.server = URL(string: "ftp://example.com/area")!
            other.scheme = .ftp
            all.append(other)
            other = web
            other.authentication = kSecAttrAuthenticationTypeHTMLForm
            all.append(other)
            other = web
            other.server = URL(string: "https://example.com:8443/area")!
            all.append(other)
            other = web
            other.server = URL(string: "https://example.com/elsewhere")!
            all.append(other)
            for credential in all { try store.save(credential) }
            #expect(try store.credentials() == all)
            try store.save(all[2])
            #expect(try store.credentials().count == all.count)
        }
    }

    @Test("KC-31: saving again changes the password, and the reference stays")
    func changesAPassword() throws {
        try SimulatedDevice().run {
            let reference = try store.save(web)
            #expect(try store.credential(reference) == web)
            var changed = web
            changed.password = "three"
            #expect(try store.save(changed) == reference)
            #expect(try store.credential(reference) == changed)
            try store.remove(web)
            #expect(try store.credential(reference) == nil)
            #expect(throws: PasswordError.missing) { try store.remove(web) }
        }
    }

    @Test("A malformed reference is refused or finds nothing")
    func foreignReference() throws {
        let device = try SimulatedDevice()
        let reference = try device.run { try store.save(web) }
        try device.run(as: "another") {
            let byReference = try store.credential(reference)
            #expect(byReference == nil)
            #expect(try store.credentials().isEmpty)
        }
        device.run {
            #expect((try? store.credential(Data("nonsense".utf8))).flatMap { $0 } == nil)
        }
    }

    @Test("KC-33: everything is deleted, and nothing of another app")
    func removesAll() throws {
        let device = try SimulatedDevice()
        _ = try device.run(as: "another") { try store.save(mail) }
        try device.run {
            #expect(store.removeAll())
            try store.save(mail)
            try store.save(web)
            Passwords(service: "app")["me"] = "x"
            #expect(store.removeAll())
            #expect(try store.credentials().isEmpty && Passwords(service: "app")["me"] == nil)
        }
        let others = try device.run(as: "another") { try store.credentials() }
        #expect(others == [mail])
    }

    @Test("The calls can be replaced by functions of the same type")
    func injected() throws {
        store.add = { query, result in
            #expect((query as NSDictionary)[kSecAttrServer as String] as? String == "example.com")
            result?.pointee = Data([7]) as CFData
            return errSecSuccess
        }
        #expect(try store.save(web) == Data([7]))
        store.copyMatching = { _, result in
            result?.pointee = NSDate()
            return errSecSuccess
        }
        #expect(throws: PasswordError.notReadable) { try store.credentials() }
    }
}
