import Foundation

#if canImport(Security)
import Security
#endif

/// Whether an item is there.
public func exists(_ account: String) -> OSStatus { find(account) }
