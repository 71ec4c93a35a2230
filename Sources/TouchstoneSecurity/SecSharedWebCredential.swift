internal import Dispatch
public import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation

/// Would save a password for a web site; it never does.
///
/// Shared web credentials are those of iCloud Keychain, for sites that name the app. There is neither on Linux.
///
/// - Parameters:
///   - fqdn: The host of the site.
///   - account: The account.
///   - password: The password; nil to delete it.
///   - completionHandler: Is told `errSecUnimplemented`, later and on a queue of its own.
public func SecAddSharedWebCredential(
    _ fqdn: CFString, _ account: CFString, _ password: CFString?, _ completionHandler: @escaping (CFError?) -> Void
) {
    // Apple's type is not Sendable either: it is called once, and by nobody else.
    nonisolated(unsafe) let completionHandler = completionHandler
    DispatchQueue.global().async { unsafe completionHandler(noSharedWebCredentials()) }
}

/// Would ask the owner for a password of a web site; it never does.
///
/// - Parameters:
///   - fqdn: The host of the site; nil for all that the app has.
///   - account: The account; nil for all.
///   - completionHandler: Is given no credentials and `errSecUnimplemented`, later and on a queue of its own.
public func SecRequestSharedWebCredential(
    _ fqdn: CFString?, _ account: CFString?, _ completionHandler: @escaping (CFArray?, CFError?) -> Void
) {
    // As above.
    nonisolated(unsafe) let completionHandler = completionHandler
    DispatchQueue.global().async { unsafe completionHandler(nil, noSharedWebCredentials()) }
}

/// Makes a password of random characters from the kernel.
///
/// - Returns: `xxx-xxx-xxx-xxx` of letters and digits that are not easily taken for one another, with at least one capital, one small letter
///   and one digit: about 70 bits.
@discardableResult
public func SecCreateSharedWebCredentialPassword() -> CFString? {
    let sets = ["abcdefghkmnopqrstuvwxy", "ABCDEFGHJKLMNPQRSTUVWXYZ", "3456789"]
    let all = Array(sets.joined())
    // Made again until it has all three: so each that does is as likely as any other.
    while true {
        let password = (0..<12).map { _ in all[Int.random(in: all.indices)] }
        guard sets.allSatisfy({ $0.contains(where: password.contains) }) else { continue }
        let groups = stride(from: 0, to: 12, by: 3).map { String(password[$0..<$0 + 3]) }
        return groups.joined(separator: "-") as NSString
    }
}

private func noSharedWebCredentials() -> NSError {
    NSError(
        domain: NSOSStatusErrorDomain, code: Int(Status.unimplemented.rawValue),
        userInfo: [
            NSLocalizedDescriptionKey: "Shared web credentials need iCloud Keychain, which Linux does not have.",
            "NSDescription": "Shared web credentials need iCloud Keychain, which Linux does not have.",
        ])
}
