// swift-format-ignore-file: written as iOS apps are, force unwraps included.

import CryptoKit
import Foundation
import LocalAuthentication
import Security

// Run where no device is: what is checked is that everything compiles, links and answers as it would on a phone without one.
let keychain = Keychain(service: "consumer")

func require(_ condition: Bool, _ what: String) {
    if !condition { fatalError(what) }
}

do {
    _ = try keychain.data(for: "me")
    require(false, "there is a device")
} catch {
    require(error as? Keychain.Failure == .status(errSecNotAvailable), "\(error)")
}
require((try? keychain.accounts()) == nil, "accounts")
require((try? keychain.set(Data(), for: "me")) == nil, "set")
require(CFGetTypeID(try keychain.protect("me")) == SecAccessControlGetTypeID(), "access control")
require((keychain.refused() as NSError?)?.code == Int(errSecParam), "refused")
require(Keychain.token()?.count == 32, "token")
require(Keychain.message(errSecItemNotFound)?.isEmpty == false, "message")
require(Owner().canAsk.1?.code == LAError.Code.biometryNotAvailable.rawValue, "canEvaluatePolicy")
let real = await Owner().ask()
require(real == "cannot", real)
let mocked = await Owner(context: MockContext()).ask()
require(mocked == "no", mocked)
require(Owner(context: MockContext()).canAsk.0, "mock")

func failure(_ body: () throws -> Void) -> Error? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}
let unavailable = PasswordError.other(errSecNotAvailable)
require(failure { _ = try Passwords(service: "consumer").accounts() } as? PasswordError == unavailable, "passwords")
let session = Session()
require(session.attempts == 0 && session.$attempts == errSecNotAvailable, "session")
require(
    failure { try Migration.rename(service: "old", to: "new") } as? Migration.Failure == .keychain(errSecNotAvailable),
    "migration")
require(failure { _ = try CredentialStore().credentials() } as? PasswordError == unavailable, "credentials")
require(!CredentialStore().removeAll() && !GuardedSecrets(service: "consumer").contains("me"), "removeAll, contains")
require(
    (failure { _ = try GuardedSecrets(service: "consumer").exists("me") } as NSError?)?.code == Int(errSecNotAvailable),
    "exists")
require(failure { try RawKeyStore().delete("key") } is RawKeyFailure, "keys")
require(failure { _ = try ItemWrapper(identifier: "item") } as? PasswordError == unavailable, "item")
require(failure { _ = try CertificateStore().all() } as? PasswordError == unavailable, "certificates")
require(
    failure { try CertificateStore().add(Data([0x30]), label: "none") } as? PasswordError == .notReadable, "certificate"
)
let correspondent = try Correspondent()
require(correspondent == nil, "there is an enclave")
require(
    failure { _ = try SecureEnclave.P256.Signing.PrivateKey() }.map(explanation) == "failed: \(errSecNotAvailable)",
    "a key without an enclave")
do {
    try await PrivateArea().open()
    require(false, "opened")
} catch {
    require((error as? LAError)?.code == .passcodeNotSet, "\(error)")
}
do {
    _ = try await ServerAccess(identifier: "server").enroll(token: Data())
    require(false, "saved")
} catch {
    require((error as NSError).code == Int(errSecNotAvailable), "\(error)")
}
let button = SignInButton()
button.appear()
require(button.symbol == "nosign" && isSameOwner(as: nil), "environment")
button.disappear()
require(CoreKeychain(service: "consumer").save([1], "me") == errSecNotAvailable, "Core Foundation")
require(Itself.groups().isEmpty && !Itself.isGenuine("identifier \"consumer\""), "itself")
require(WebPasswords.isAvailable && WebPasswords.generate().count == 15, "a password for a web site")
print("ok")
