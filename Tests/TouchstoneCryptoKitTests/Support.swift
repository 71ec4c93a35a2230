import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

func control(
    _ flags: SecAccessControlCreateFlags, _ protection: CFString = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
) throws -> SecAccessControl {
    try #require(SecAccessControlCreateWithFlags(nil, protection, flags.union(.privateKeyUsage), nil))
}

/// Where no device is, whatever other suites have.
func withoutDevice<Result>(_ body: () throws -> Result) rethrows -> Result {
    let nowhere = SocketEndpoint(path: "/nonexistent/touchstone/never-existed/touchstoned.sock")
    return try DeviceEndpoint.$scoped.withValue(nowhere, operation: body)
}

func status(_ status: OSStatus) -> CryptoKitError { .underlyingCoreCryptoError(error: status) }

extension SimulatedDevice {
    /// Runs `body` and expects that it shows so many prompts.
    func run(prompts expected: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void)
        rethrows
    {
        let before = prompts.count
        try run(body)
        #expect(prompts.count - before == expected, "prompts", sourceLocation: sourceLocation)
    }
}

extension Data {
    func flippingBit(_ bit: Int) -> Data {
        var copy = self
        copy[copy.startIndex + bit / 8] ^= 1 << UInt8(bit % 8)
        return copy
    }
}
