internal import Foundation
internal import TouchstoneCBOR

/// What an authenticator says about itself and its owner: WebAuthn level 2, section 6.1.
struct AuthenticatorData: Hashable, Sendable {
    struct Flags: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let present = Flags(rawValue: 0x01)
        static let verified = Flags(rawValue: 0x04)
        static let canBeBackedUp = Flags(rawValue: 0x08)
        static let isBackedUp = Flags(rawValue: 0x10)
        static let hasCredential = Flags(rawValue: 0x40)
        static let hasExtensions = Flags(rawValue: 0x80)
    }

    struct Credential: Hashable, Sendable {
        /// The authenticator's model, 16 bytes.
        var model: [UInt8]
        /// 1 to 1023 bytes.
        var id: [UInt8]
        var key: CBOR
    }

    private static let longestID = 1023

    /// SHA-256 of the site's domain.
    var relyingParty: [UInt8]
    var flags: Flags
    var counter: UInt32
    var credential: Credential?

    /// - Throws: `WebAuthnRefusal.authenticatorDataForm`.
    init(_ bytes: [UInt8]) throws(WebAuthnRefusal) {
        guard bytes.count >= 37 else { throw .authenticatorDataForm }
        relyingParty = Array(bytes[0..<32])
        flags = Flags(rawValue: bytes[32])
        counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags.contains(.hasCredential) {
            guard rest.count >= 18 else { throw .authenticatorDataForm }
            let model = Array(rest.prefix(16))
            let count = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(18)
            guard (1...Self.longestID).contains(count), count <= rest.count else { throw .authenticatorDataForm }
            let id = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            credential = Credential(model: model, id: id, key: try Self.map(&rest))
        }
        if flags.contains(.hasExtensions) { _ = try Self.map(&rest) }
        guard rest.isEmpty else { throw .authenticatorDataForm }
    }

    private static func map(_ bytes: inout ArraySlice<UInt8>) throws(WebAuthnRefusal) -> CBOR {
        guard let value = try? CBOR(takenFrom: &bytes), case .map = value else { throw .authenticatorDataForm }
        return value
    }
}
