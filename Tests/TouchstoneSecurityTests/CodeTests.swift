import Foundation
import Security
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

/// What this process is told of itself.
@Suite struct CodeTests {
    /// A device that takes every peer for one app.
    private func run(_ app: AppIdentity, _ body: () throws -> Void) rethrows {
        let handler = VarlinkHandler.method(AuthenticationInterface.GetIdentity.self) { _, _ in .init(app) }
        let router = VarlinkRouter(
            info: .init(product: "scripted", version: "0"),
            interfaces: [VarlinkInterface(name: AuthenticationInterface.name, description: [], handlers: [handler])])
        let endpoint = LoopbackEndpoint(router: router, peer: Peer(processID: 1, userID: 1) { nil })
        try DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    private func app(_ identifier: String, _ evidence: AppIdentity.Evidence, isPinned: Bool? = nil) -> AppIdentity {
        AppIdentity(
            identifier: AppIdentifier(identifier), evidence: evidence, name: "App", processID: 1, userID: 1,
            hasPinnedDigest: isPinned)
    }

    private func validity(_ text: String?) throws -> OSStatus {
        var code: SecCode?
        #expect(SecCodeCopySelf(.kSecCSDefaultFlags, &code) == errSecSuccess)
        var requirement: SecRequirement?
        if let text { #expect(SecRequirementCreateWithString(text as CFString, [], &requirement) == errSecSuccess) }
        let status = SecCodeCheckValidity(try #require(code), [], requirement)
        var staticCode: SecStaticCode?
        #expect(SecCodeCopyStaticCode(try #require(code), [], &staticCode) == errSecSuccess)
        #expect(SecStaticCodeCheckValidity(try #require(staticCode), [], requirement) == status)
        var error: Unmanaged<CFError>?
        #expect(SecCodeCheckValidityWithErrors(try #require(code), [], requirement, &error) == status)
        let failure = error?.takeRetainedValue()
        #expect(failure?.code == (status == errSecSuccess ? nil : Int(status)))
        #expect(failure?.localizedDescription.isEmpty != true)
        return status
    }

    @Test(
        "Code is valid where a manifest pins it, or a sandbox or systemd names it",
        arguments: [
            ("/usr/bin/app", .executable, true), ("flatpak:org.example.App", .flatpak, nil), ("snap:app", .snap, nil),
            ("unit:app.service", .systemdUnit, nil),
        ] as [(String, AppIdentity.Evidence, Bool?)])
    func validCode(_ identifier: String, _ evidence: AppIdentity.Evidence, _ isPinned: Bool?) throws {
        try run(app(identifier, evidence, isPinned: isPinned)) {
            let found = try [nil, "identifier \"\(identifier)\"", "identifier \"another\""].map(validity)
            #expect(found == [errSecSuccess, errSecSuccess, errSecCSReqFailed])
        }
    }

    @Test("A requirement names an app by its bytes: another spelling of the same characters is another app")
    func spelling() throws {
        try run(app("flatpak:caf\u{e9}", .flatpak)) {
            let found = try ["flatpak:caf\u{e9}", "flatpak:cafe\u{301}"].map { try validity("identifier \"\($0)\"") }
            #expect(found == [errSecSuccess, errSecCSReqFailed])
        }
    }

    @Test(
        "Code that is known by its path alone is unsigned; another executable than the pinned one is invalid",
        arguments: [
            (.executable, nil, errSecCSUnsigned), (.process, nil, errSecCSUnsigned),
            (.executable, false, errSecCSSignatureFailed),
        ] as [(AppIdentity.Evidence, Bool?, OSStatus)])
    func invalidCode(_ evidence: AppIdentity.Evidence, _ isPinned: Bool?, _ expected: OSStatus) throws {
        try run(app("/usr/bin/app", evidence, isPinned: isPinned)) {
            let found = try [nil, "identifier \"/usr/bin/app\""].map(validity)
            #expect(found == [expected, expected], "whatever is required besides")
        }
    }

    @Test("What only a signature could tell is refused as a requirement, and so is nothing")
    func requirements() {
        var requirement: SecRequirement?
        for text in ["anchor apple generic", "identifier \"a\" and anchor apple", "identifier a"] {
            #expect(SecRequirementCreateWithString(text as CFString, [], &requirement) == errSecCSReqUnsupported)
        }
        #expect(SecRequirementCreateWithString(" " as CFString, [], &requirement) == errSecCSReqInvalid)
        #expect(requirement == nil)
    }

    @Test("KC-40: an app's entitlements are what its manifest says; one that it does not have is nil, without an error")
    func entitlements() throws {
        let device = try SimulatedDevice()
        try device.run(
            as: "org.example.app", keychainAccessGroups: ["T.b", "T.a"], applicationGroups: ["group.org.example"]
        ) {
            let task = try #require(SecTaskCreateFromSelf(nil))
            var error: Unmanaged<CFError>?
            func value(_ name: String) -> CFTypeRef? { SecTaskCopyValueForEntitlement(task, name as CFString, &error) }
            #expect(value("application-identifier") as? String == "org.example.app")
            #expect(value("com.apple.application-identifier") as? String == "org.example.app")
            #expect(value("keychain-access-groups") as? [String] == ["T.b", "T.a"])
            #expect(value("com.apple.security.application-groups") as? [String] == ["group.org.example"])
            #expect(value("com.apple.security.app-sandbox") == nil)
            #expect(error == nil)
            let names = ["keychain-access-groups", "application-identifier", "get-task-allow"] as CFArray
            let several = SecTaskCopyValuesForEntitlements(task, names, nil) as? [String: AnyObject]
            #expect(several?.keys.sorted() == ["application-identifier", "keychain-access-groups"])
            #expect(SecTaskCopySigningIdentifier(task, nil) as String? == "org.example.app")
            var code: SecCode?
            SecCodeCopySelf([], &code)
            #expect(SecCodeCheckValidity(try #require(code), [], nil) == errSecCSUnsigned)
        }
        device.run(as: "org.example.other") {
            guard let task = SecTaskCreateFromSelf(nil) else { return }
            #expect(SecTaskCopyValueForEntitlement(task, "keychain-access-groups" as CFString, nil) == nil)
        }
    }

    @Test("An older device tells only the identifier")
    func olderDevice() throws {
        let router = VarlinkRouter(
            info: .init(product: "scripted", version: "0"),
            interfaces: [
                VarlinkInterface(
                    name: AuthenticationInterface.name, description: [],
                    handlers: [
                        .method(OldGetIdentity.self) { _, _ in .init(app: "/usr/bin/app") }
                    ])
            ])
        let endpoint = LoopbackEndpoint(router: router, peer: Peer(processID: 1, userID: 1) { nil })
        try DeviceEndpoint.$scoped.withValue(endpoint) {
            let task = try #require(SecTaskCreateFromSelf(nil))
            #expect(SecTaskCopySigningIdentifier(task, nil) as String? == "/usr/bin/app")
            #expect(SecTaskCopyValueForEntitlement(task, "keychain-access-groups" as CFString, nil) == nil)
            let status = try validity(nil)
            #expect(status == errSecCSUnsigned)
        }
    }

    private enum OldGetIdentity: VarlinkMethod {
        static let name = AuthenticationInterface.GetIdentity.name
        typealias Parameters = Empty
        struct Reply: MessageCodable {
            var app: String
            init(app: String) { self.app = app }
            init(from json: MessageDecoder) throws { app = try json.value("app") }
            func write(to json: inout JSONOutput) throws { try ["app": app].write(to: &json) }
        }
    }

    @Test("The types are told apart, and SecTrust is one of them")
    func types() throws {
        var code: SecCode?
        SecCodeCopySelf([], &code)
        #expect(CFGetTypeID(code) == SecCodeGetTypeID())
        #expect(CFGetTypeID(SecTaskCreateFromSelf(nil)) == SecTaskGetTypeID())
        let all = [
            SecCodeGetTypeID(), SecStaticCodeGetTypeID(), SecRequirementGetTypeID(), SecTaskGetTypeID(),
            SecTrustGetTypeID(), SecKeyGetTypeID(), SecCertificateGetTypeID(), SecAccessControlGetTypeID(),
        ]
        #expect(Set(all).count == all.count)
        func evaluate(_ trust: SecTrust?) -> Bool { trust != nil }
        #expect(!evaluate(nil))
    }
}
