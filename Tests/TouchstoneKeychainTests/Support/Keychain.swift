import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

typealias Attributes = [CFString: Any]

/// A generic password's dictionary.
func generic(_ attributes: Attributes = [:]) -> Attributes {
    attributes.merging([kSecClass: kSecClassGenericPassword]) { own, _ in own }
}

/// An internet password's dictionary.
func internet(_ attributes: Attributes = [:]) -> Attributes {
    attributes.merging([kSecClass: kSecClassInternetPassword]) { own, _ in own }
}

/// An item of this account, found by nothing else.
func account(_ name: String, _ attributes: Attributes = [:]) -> Attributes {
    generic([kSecAttrAccount: name].merging(attributes) { _, other in other })
}

extension Attributes {
    func with(_ key: CFString, _ value: Any) -> Attributes { merging([key: value]) { _, new in new } }

    /// Asks for the secret.
    var data: Attributes { with(kSecReturnData, true) }
    /// Asks for the attributes.
    var attributes: Attributes { with(kSecReturnAttributes, true) }
    /// Wants every match.
    var all: Attributes { with(kSecMatchLimit, kSecMatchLimitAll) }
    /// Wants no prompt.
    var silent: Attributes { with(kSecUseAuthenticationUI, kSecUseAuthenticationUIFail) }

    func value(_ text: String) -> Attributes { with(kSecValueData, Data(text.utf8)) }
}

@discardableResult
func add(_ attributes: Attributes) -> OSStatus { SecItemAdd(attributes as CFDictionary, nil) }

func addReturning(_ attributes: Attributes) -> (status: OSStatus, result: CFTypeRef?) {
    var result: CFTypeRef?
    let status = SecItemAdd(attributes as CFDictionary, &result)
    return (status, result)
}

func find(_ query: Attributes) -> (status: OSStatus, result: CFTypeRef?) {
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    return (status, result)
}

/// The status of reading the secret.
func read(_ query: Attributes) -> OSStatus { find(query.data).status }

/// The secret as text, or nil for any status but success.
func secret(_ query: Attributes) -> String? {
    let (status, result) = find(query.data)
    return status == errSecSuccess ? (result as? Data).map { String(decoding: $0, as: UTF8.self) } : nil
}

/// The attributes of the one item.
func attributes(_ query: Attributes) throws -> [String: Any] {
    let (status, result) = find(query.attributes)
    try #require(status == errSecSuccess)
    return try #require(result as? [String: Any])
}

/// The accounts of all matches.
func accounts(_ query: Attributes) -> Set<String> {
    let found = find(query.all.attributes).result as? [[String: Any]] ?? []
    return Set(found.compactMap { $0[kSecAttrAccount as String] as? String })
}

@discardableResult
func update(_ query: Attributes, _ changes: Attributes) -> OSStatus {
    SecItemUpdate(query as CFDictionary, changes as CFDictionary)
}

@discardableResult
func delete(_ query: Attributes) -> OSStatus { SecItemDelete(query as CFDictionary) }

func control(
    _ flags: SecAccessControlCreateFlags, _ protection: CFString = kSecAttrAccessibleWhenUnlocked
) throws -> SecAccessControl {
    try #require(SecAccessControlCreateWithFlags(nil, protection, flags, nil))
}

/// A key of the enclave, in the keychain.
func enclaveKey(_ privateHalf: Attributes = [:]) throws -> SecKey {
    let parameters: Attributes = [
        kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits: 256,
        kSecAttrTokenID: kSecAttrTokenIDSecureEnclave, kSecPrivateKeyAttrs: privateHalf,
    ]
    return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, nil))
}

extension SimulatedDevice {
    /// Runs `body` before an owner who says no to any prompt but those that `body` gives an answer to, and expects this many.
    func run(prompts expected: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void)
        rethrows
    {
        let before = prompts.count
        try run(body)
        #expect(prompts.count - before == expected, "prompts", sourceLocation: sourceLocation)
    }

    /// The same, where none is expected: one that comes all the same is cancelled, so that the test ends.
    func runUnprompted(sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) rethrows {
        present(.cancel, .cancel, .cancel)
        try run(prompts: 0, sourceLocation: sourceLocation, body)
    }
}

/// A context where one is only handed over.
enum LAContextStandIn {
    static var context: LAContext { LAContext() }
}

/// Does what waits for the owner on a thread of its own: those of tasks are few.
func elsewhere(_ body: @escaping @Sendable () -> OSStatus) -> Task<OSStatus, Never> {
    Task.detached(priority: .high) {
        await withCheckedContinuation { done in
            Thread.detachNewThread { done.resume(returning: body()) }
        }
    }
}

/// Waits for what another thread does, where no task may wait; at most five minutes.
func eventually(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool) {
    let limit = Date(timeIntervalSinceNow: 300)
    while !condition(), Date() < limit { usleep(1000) }
    #expect(condition(), sourceLocation: sourceLocation)
}

/// Waits for what other tasks bring about, which queue behind those of all other tests; at most five minutes.
func eventually(_ condition: () -> Bool) async {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(300)
    while !condition(), clock.now < end { try? await Task.sleep(for: .milliseconds(1)) }
    #expect(condition())
}
