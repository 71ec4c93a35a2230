import Between
import CryptoKit
import Foundation
import Security
import Vault

/// A library on a library: what both have of `Security` is the same type.
public func guarded(_ service: String) -> [CFString: Any] {
    Vault(service: service).query(guardedBy: ownersOnly())
}

/// The SHA-256 of a text.
public func digest(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }
