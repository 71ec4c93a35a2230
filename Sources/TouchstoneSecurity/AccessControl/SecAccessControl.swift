public import Foundation
package import TouchstoneCore
public import TouchstoneCoreFoundation

/// When an item can be opened, and who has to prove what (AC-07).
///
/// > Source: AC-01, AC-02, AC-05.
public final class SecAccessControl: NSObject, CoreFoundationType, Sendable {
    /// The protection class and the constraint.
    package let value: AccessControl

    package static let typeID: CFTypeID = 0x5443_4143

    package init(_ value: AccessControl) {
        self.value = value
    }

    /// Whether another access control says the same.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is an access control of the same class and constraint.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecAccessControl)?.value == value
    }

    /// The hash of the class and the constraint.
    public override var hash: Int { value.hashValue }

    /// The class and the flags by their names.
    public override var description: String {
        let flags = value.flags.names
        return "<SecAccessControl: \(value.protection)\(flags.isEmpty ? "" : "; " + flags.joined(separator: ", "))>"
    }
}

extension AccessControl.Flags {
    /// The flags as they are spelled in source; bits that have no name as one number.
    fileprivate var names: [String] {
        let known: [(AccessControl.Flags, String)] = [
            (.userPresence, "userPresence"), (.biometryAny, "biometryAny"),
            (.biometryCurrentSet, "biometryCurrentSet"), (.devicePasscode, "devicePasscode"),
            (.companion, "companion"), (.or, "or"), (.and, "and"), (.privateKeyUsage, "privateKeyUsage"),
            (.applicationPassword, "applicationPassword"),
        ]
        let unnamed = known.reduce(self) { $0.subtracting($1.0) }
        return known.filter { contains($0.0) }.map(\.1)
            + (unnamed.isEmpty ? [] : ["0x" + String(unnamed.rawValue, radix: 16)])
    }
}

/// The type of `SecAccessControl`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecAccessControlGetTypeID() -> CFTypeID { SecAccessControl.typeID }

/// Makes an access control.
///
/// Nothing is asked of the device: whether a finger is enrolled is looked at when the item is added (AC-07, AC-15).
///
/// > Source: AC-01, AC-02, AC-05.
///
/// - Parameters:
///   - allocator: Disregarded.
///   - protection: One of the `kSecAttrAccessible…` constants.
///   - flags: Who has to prove what; empty for the protection class alone.
///   - error: Takes `errSecParam` in `NSOSStatusErrorDomain` if the arguments do not fit together.
/// - Returns: The access control; nil for another protection, or for flags that AC-02 forbids.
@discardableResult
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    unsafe storing(error, in: "Access control creation") {
        guard let name = protection as? NSString, let accessibility = Accessibility(rawValue: name as String) else {
            throw Status.param
        }
        let bits = AccessControl.Flags(rawValue: UInt64(flags.rawValue))
        return SecAccessControl(try AccessControl(protection: accessibility, flags: bits))
    }
}
