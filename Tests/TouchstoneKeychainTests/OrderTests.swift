import Foundation
import Security
import Testing
import TouchstoneTesting

/// Which of several matches is found: the oldest, on every device.
///
/// The tags by which rows are found are in another order on each.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    private static let devices = 10

    private func onEveryDevice(_ body: (SimulatedDevice) throws -> Void) throws {
        for _ in 0..<Self.devices {
            let device = try SimulatedDevice()
            try device.run(as: "app", keychainAccessGroups: ["F.one", "F.two", "F.three"]) { try body(device) }
        }
    }

    /// The values of all, as they are found.
    private func all(_ query: Attributes) -> [String] {
        let found = find(query.attributes.data.all).result as? [[String: Any]] ?? []
        return found.compactMap { ($0["v_Data"] as? Data).map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test("KC-33, KC-44: of items alike but for their group a search without a group finds the oldest")
    func groups() throws {
        try onEveryDevice { _ throws in
            for group in ["F.two", "F.three", "F.one"] {
                #expect(add(account("a", [kSecAttrAccessGroup: group]).value(group)) == errSecSuccess)
            }
            #expect(all(account("a")) == ["F.two", "F.three", "F.one"])
            #expect(secret(account("a")) == "F.two")
            for group in ["F.two", "F.three", "F.one"] {
                #expect(secret(account("a", [kSecAttrAccessGroup: group])) == group)
            }
            // One that is changed stays as old as it is; one that is made again is the youngest.
            update(account("a", [kSecAttrAccessGroup: "F.two"]), [kSecValueData: Data("changed".utf8)])
            #expect(secret(account("a")) == "changed")
            delete(account("a", [kSecAttrAccessGroup: "F.two"]))
            #expect(secret(account("a")) == "F.three")
            add(account("a", [kSecAttrAccessGroup: "F.two"]).value("F.two"))
            #expect(secret(account("a")) == "F.three")
        }
    }

    @Test("KC-33: of many items of a service a search for one, or for some, finds the oldest") func services() throws {
        try onEveryDevice { _ throws in
            let names = (0..<24).map { "n\(($0 * 7) % 24)" }
            for name in names { add(account(name, [kSecAttrService: "s"]).value(name)) }
            let query = generic([kSecAttrService: "s"])
            #expect(secret(query) == names[0])
            #expect(secret(query.with(kSecMatchLimit, 1)) == names[0])
            #expect(try attributes(query)["acct"] as? String == names[0])
            #expect(all(query) == names)
            let some = find(query.with(kSecMatchLimit, 3).data).result as? [Data]
            #expect(some == names.prefix(3).map { Data($0.utf8) })
        }
    }

    @Test("KC-33: of identities that are several, the one of the oldest certificate is found") func identitiesToo()
        throws
    {
        try onEveryDevice { _ throws in
            addReference(try certificate(TestCertificates.renewed))
            addReference(try clientIdentity())
            #expect(labels(identities()) == ["Client Renewed", "Café Client"])
            #expect(try attributes(identities())["labl"] as? String == "Client Renewed")
            delete(certificates([kSecAttrLabel: "Client Renewed"]))
            addReference(try certificate(TestCertificates.renewed))
            #expect(try attributes(identities())["labl"] as? String == "Café Client")
        }
    }

    @Test("AC-23: the oldest is looked at first also where it is guarded, and left out where it must be") func guarded()
        throws
    {
        for _ in 0..<Self.devices {
            let device = try SimulatedDevice(passcode: "1234", fingers: 1)
            try device.run(as: "app", keychainAccessGroups: ["F.one", "F.two"]) {
                let presence = try control(.userPresence)
                add(account("a", [kSecAttrAccessGroup: "F.two", kSecAttrAccessControl: presence]).value("guarded"))
                add(account("a", [kSecAttrAccessGroup: "F.one"]).value("open"))
                #expect(read(account("a").silent) == errSecInteractionNotAllowed)
                #expect(secret(account("a", [kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])) == "open")
                device.present(.finger(1))
                #expect(secret(account("a")) == "guarded")
            }
        }
    }

    @Test("KC-33: where an update of several cannot be done, the oldest is what it stops at, and none is changed")
    func updates() throws {
        try onEveryDevice { _ throws in
            for name in ["b", "a"] { add(account(name, [kSecAttrService: "s"]).value(name)) }
            #expect(update(generic([kSecAttrService: "s"]), [kSecAttrAccount: "c"]) == errSecDuplicateItem)
            #expect(accounts(generic()) == ["a", "b"])
            #expect(update(generic([kSecAttrService: "s"]), [kSecAttrLabel: "l"]) == errSecSuccess)
            #expect(all(generic()) == ["b", "a"])
        }
    }
}
