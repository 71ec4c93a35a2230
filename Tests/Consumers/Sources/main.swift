// swift-format-ignore-file: written as iOS apps are, force unwraps included.

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
print("ok")
