internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
import TouchstoneInterfaces

/// A process that can be asked for its entitlements: here, this one.
public final class SecTask: NSObject, CoreFoundationType, Sendable {
    package static let typeID: CFTypeID = 0x5443_5354

    override init() {}
}

/// The type of `SecTask`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecTaskGetTypeID() -> CFTypeID { SecTask.typeID }

/// This process.
///
/// - Parameter allocator: Disregarded.
/// - Returns: The task.
@discardableResult
public func SecTaskCreateFromSelf(_ allocator: CFAllocator?) -> SecTask? { SecTask() }

/// The value of an entitlement, as touchstoned has it: what an app's entitlements are on Apple's platforms, its manifest is here.
///
/// Known are `application-identifier` and `com.apple.application-identifier`, by which touchstoned knows the app (a text), and
/// `keychain-access-groups` and `com.apple.security.application-groups` of the manifest (arrays of texts). They are the groups that
/// KC-40 lists.
///
/// - Parameters:
///   - task: The task.
///   - entitlement: The name.
///   - error: Takes the reason where the device could not be asked; left alone otherwise.
/// - Returns: The value; nil for an entitlement that the app does not have, and where the device could not be asked.
@discardableResult
public func SecTaskCopyValueForEntitlement(
    _ task: SecTask, _ entitlement: CFString, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFTypeRef? {
    unsafe entitlements(error)?[entitlement as String]
}

/// The values of several entitlements.
///
/// - Parameters:
///   - task: The task.
///   - entitlements: Their names (CFString).
///   - error: Takes the reason where the device could not be asked; left alone otherwise.
/// - Returns: The values of those that the app has, by their names; nil if the device could not be asked.
@discardableResult
public func SecTaskCopyValuesForEntitlements(
    _ task: SecTask, _ entitlements: CFArray, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFDictionary? {
    let names = entitlements.compactMap { $0 as? String }
    return unsafe TouchstoneSecurity.entitlements(error)?.filter { names.contains($0.key) } as NSDictionary?
}

/// The identifier by which the device knows the app, as `application-identifier`.
///
/// - Parameters:
///   - task: The task.
///   - error: Takes the reason where the device could not be asked; left alone otherwise.
/// - Returns: The identifier, such as `flatpak:org.example.App` or the path of the executable; nil if the device could not be asked.
@discardableResult
public func SecTaskCopySigningIdentifier(
    _ task: SecTask, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFString? {
    unsafe entitlements(error)?["application-identifier"] as? NSString
}

private func entitlements(_ error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> [String: AnyObject]? {
    do {
        let identity = try ownIdentity()
        let identifier = identity.app.rawValue as NSString
        var values: [String: AnyObject] = [
            "application-identifier": identifier, "com.apple.application-identifier": identifier,
        ]
        for (name, groups) in [
            ("keychain-access-groups", identity.keychainAccessGroups),
            ("com.apple.security.application-groups", identity.applicationGroups),
        ] {
            if let groups, !groups.isEmpty { values[name] = groups.map(\.rawValue) as NSArray }
        }
        return values
    } catch let failure {
        unsafe storeIdentityFailure(Status(failure: failure), in: error)
        return nil
    }
}
