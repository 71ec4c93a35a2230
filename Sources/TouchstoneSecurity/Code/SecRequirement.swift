internal import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// What code has to be.
public final class SecRequirement: NSObject, CoreFoundationType, Sendable {
    /// The identifier that the device has to know the app by.
    let identifier: AppIdentifier

    package static let typeID: CFTypeID = 0x5443_5251

    init(identifier: AppIdentifier) {
        self.identifier = identifier
    }
}

/// The type of `SecRequirement`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecRequirementGetTypeID() -> CFTypeID { SecRequirement.typeID }

/// Reads a requirement.
///
/// - Parameters:
///   - text: `identifier "…"`, with what `SecTaskCopySigningIdentifier` answers for the app: `identifier "flatpak:org.example.App"`.
///   - flags: Disregarded.
///   - requirement: Takes the requirement; left alone after an error.
/// - Returns: `errSecSuccess`; `errSecCSReqUnsupported` for what else Apple's language has, such as `anchor apple`: there is no signature
///   that could be held against it; `errSecCSReqInvalid` for an empty text.
@discardableResult
public func SecRequirementCreateWithString(
    _ text: CFString, _ flags: SecCSFlags, _ requirement: UnsafeMutablePointer<SecRequirement?>
) -> OSStatus {
    let words = (text as String).trimmingCharacters(in: .whitespacesAndNewlines)
    guard !words.isEmpty else { return errSecCSReqInvalid }
    guard let identifier = words.wholeMatch(of: #/identifier\s+"([^"]+)"/#)?.1 else { return errSecCSReqUnsupported }
    unsafe requirement.pointee = SecRequirement(identifier: AppIdentifier(String(identifier)))
    return errSecSuccess
}
