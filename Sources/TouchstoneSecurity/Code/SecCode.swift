internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
import TouchstoneInterfaces
import TouchstoneSystem
internal import TouchstoneTransport

/// Code that runs: here, this process.
public final class SecCode: NSObject, CoreFoundationType, Sendable {
    package static let typeID: CFTypeID = 0x5443_5343

    override init() {}
}

/// Code on the disk: here, what this process executes.
public final class SecStaticCode: NSObject, CoreFoundationType, Sendable {
    package static let typeID: CFTypeID = 0x5443_5353

    override init() {}
}

/// The type of `SecCode`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecCodeGetTypeID() -> CFTypeID { SecCode.typeID }

/// The type of `SecStaticCode`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecStaticCodeGetTypeID() -> CFTypeID { SecStaticCode.typeID }

/// The code of this process.
///
/// - Parameters:
///   - flags: Disregarded.
///   - self: Takes the code.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecCodeCopySelf(_ flags: SecCSFlags, _ self: UnsafeMutablePointer<SecCode?>) -> OSStatus {
    unsafe self.pointee = SecCode()
    return errSecSuccess
}

/// What code executes.
///
/// - Parameters:
///   - code: The code.
///   - flags: Disregarded.
///   - staticCode: Takes what it executes.
/// - Returns: `errSecSuccess`.
@discardableResult
public func SecCodeCopyStaticCode(
    _ code: SecCode, _ flags: SecCSFlags, _ staticCode: UnsafeMutablePointer<SecStaticCode?>
) -> OSStatus {
    unsafe staticCode.pointee = SecStaticCode()
    return errSecSuccess
}

/// Whether the device knows this process by more than the path of its executable.
///
/// Linux has no code signatures, so this proves less than on a Mac. It succeeds where touchstoned, another process, finds that
/// - the app's manifest pins the SHA-256 of its executable, and the executable has it; or
/// - the app runs in a Flatpak, a snap or a system service, whose name its identity then is.
///
/// The first means that the file is the one that the administrator, or the maker of the package, meant. The second means
/// that the sandbox or systemd says who the app is. `docs/app-manifests.md` says how strong that is. Both say nothing
/// about the process's memory or the libraries that it has loaded, and a changed process can leave this call out. An
/// item's access group protects it, and touchstoned checks that by itself.
///
/// - Parameters:
///   - code: The code.
///   - flags: Disregarded.
///   - requirement: What it has to be besides; nil for nothing.
/// - Returns: `errSecSuccess`; `errSecCSUnsigned` for an app that is known by its path alone, and in a simulated device of a test;
///   `errSecCSSignatureFailed` if a manifest pins another executable; `errSecCSReqFailed` for another identifier than the required one;
///   `errSecNotAvailable` without a device; `errSecMissingEntitlement` if the device cannot tell who this is.
@discardableResult
public func SecCodeCheckValidity(_ code: SecCode, _ flags: SecCSFlags, _ requirement: SecRequirement?) -> OSStatus {
    do {
        let identity = try ownIdentity()
        switch (identity.evidence, identity.hasPinnedDigest) {
        case (_, false?): return errSecCSSignatureFailed
        case (.flatpak?, _), (.snap?, _), (.systemdUnit?, _), (.executable?, true?): break
        case (.executable?, nil), (.process?, _), (nil, _): return errSecCSUnsigned
        }
        if let requirement, requirement.identifier != identity.app { return errSecCSReqFailed }
        return errSecSuccess
    } catch {
        return Status(failure: error).rawValue
    }
}

/// The same as `SecCodeCheckValidity`, with the reason.
///
/// - Parameters:
///   - code: The code.
///   - flags: Disregarded.
///   - requirement: What it has to be besides; nil for nothing.
///   - errors: Takes an error with the status, where it is not `errSecSuccess`.
/// - Returns: What `SecCodeCheckValidity` returns.
@discardableResult
public func SecCodeCheckValidityWithErrors(
    _ code: SecCode, _ flags: SecCSFlags, _ requirement: SecRequirement?,
    _ errors: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> OSStatus {
    let status = SecCodeCheckValidity(code, flags, requirement)
    if status != errSecSuccess { unsafe storeIdentityFailure(Status(rawValue: status), in: errors) }
    return status
}

/// The same as `SecCodeCheckValidity` of the process that executes it: what touchstoned knows of the file is what it knows of that process.
///
/// - Parameters:
///   - staticCode: The code.
///   - flags: Disregarded.
///   - requirement: What it has to be besides; nil for nothing.
/// - Returns: What `SecCodeCheckValidity` returns.
@discardableResult
public func SecStaticCodeCheckValidity(
    _ staticCode: SecStaticCode, _ flags: SecCSFlags, _ requirement: SecRequirement?
) -> OSStatus {
    SecCodeCheckValidity(SecCode(), flags, requirement)
}

/// Who the device takes this process for.
///
/// - Throws: `RemoteError`, `TransportError`.
func ownIdentity() throws -> AuthenticationInterface.GetIdentity.Reply {
    try DeviceEndpoint.current().call(AuthenticationInterface.GetIdentity.self, Empty(), isRepeatable: true)
}

/// Stores why nothing is known of this process.
func storeIdentityFailure(_ status: Status, in error: UnsafeMutablePointer<Unmanaged<CFError>?>?) {
    let reason =
        switch status.rawValue {
        case errSecCSUnsigned:
            "The device knows this program only by its path, because no manifest pins its executable."
        case errSecCSSignatureFailed: "The app's manifest pins another executable."
        case errSecCSReqFailed: "The device knows this program by another identifier."
        case errSecNotAvailable: "No device is running."
        case errSecMissingEntitlement: "The device does not know this program. Its log says why."
        default: "The device could not say who this program is."
        }
    let failure = NSError(
        domain: NSOSStatusErrorDomain, code: Int(status.rawValue),
        userInfo: [NSLocalizedDescriptionKey: reason, "NSDescription": reason])
    unsafe error?.pointee = unsafe Unmanaged.passRetained(failure)
}
