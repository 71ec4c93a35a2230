internal import Crypto
public import Foundation
internal import TouchstoneCore
public import TouchstoneCoreFoundation
import TouchstoneInterfaces

/// A key, public or private.
public final class SecKey: NSObject, CoreFoundationType, Sendable {
    let implementation: any KeyImplementation

    package static let typeID: CFTypeID = 0x5443_4b45

    init(_ implementation: any KeyImplementation) {
        self.implementation = implementation
    }

    /// Makes the key that an item keeps; nil if its attributes and its data do not fit together.
    convenience init?(itemAttributes: KeychainInterface.Dictionary, itemData: Data) {
        guard case .number(let type)? = itemAttributes[.keyType], let type = KeyType(rawValue: type),
            case .number(let keyClass)? = itemAttributes[.keyClass], let keyClass = KeyClass(rawValue: keyClass),
            let key = SoftwareKey(type, keyClass, data: itemData)
        else { return nil }
        self.init(key)
    }

    /// The SHA-1 of the external representation of the public key.
    var publicKeyHash: Data { Data(Insecure.SHA1.hash(data: implementation.publicKey.externalRepresentation())) }

    /// Whether another key has the same attributes and, where they can be had, the same bytes.
    ///
    /// - Parameter object: What to compare with.
    /// - Returns: Whether it is such a key.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return other === self || (other.itemAttributes == itemAttributes && other.itemData == itemData)
    }

    /// The hash of the public key.
    public override var hash: Int { publicKeyHash.hashValue }

    /// What kind of key it is, and how long; nothing of the key itself.
    public override var description: String {
        "<SecKey: \(kind), \(implementation.sizeInBits) bits\(implementation is EnclaveKey ? ", Secure Enclave" : "")>"
    }

    /// For errors and descriptions: "EC private key".
    var kind: String { KeyType.kind(implementation.keyType, implementation.keyClass) }
}

extension SecKey: ItemReference {
    var itemClass: ItemClass { .key }

    var itemAttributes: KeychainInterface.Dictionary {
        let isPublic = implementation.keyClass == .public
        let common: KeychainInterface.Dictionary = [
            .keyClass: .number(implementation.keyClass.rawValue), .applicationLabel: .data(publicKeyHash),
            .keyType: .number(implementation.keyType.rawValue),
            .keySizeInBits: .number(Int64(implementation.sizeInBits)),
            .effectiveKeySize: .number(Int64(implementation.sizeInBits)),
            // Apple's say of a public key, too, that it is private.
            .isPermanent: .boolean(true), .isPrivate: .boolean(true), .isModifiable: .boolean(true),
            .isSensitive: .boolean(false), .wasAlwaysSensitive: .boolean(false), .isExtractable: .boolean(true),
            .wasNeverExtractable: .boolean(false),
            .canEncrypt: .boolean(isPublic), .canVerify: .boolean(isPublic), .canWrap: .boolean(isPublic),
            .canDecrypt: .boolean(!isPublic), .canSign: .boolean(!isPublic), .canUnwrap: .boolean(!isPublic),
            .canDerive: .boolean(true), .canSignRecover: .boolean(false), .canVerifyRecover: .boolean(false),
        ]
        return common.merging(implementation.ownAttributes) { _, own in own }
    }

    /// An application label that an app chose may be that of keys with other tags: none of them is to be deleted instead.
    var tellingAttributes: KeychainInterface.Dictionary {
        guard itemAttributes[.applicationLabel] != .data(publicKeyHash) else { return [:] }
        return implementation.furtherAttributes.filter { $0.key == .applicationTag }
    }

    var itemData: Data? { implementation.itemData }
}

/// The type of `SecKey`.
///
/// - Returns: What `CFGetTypeID` answers for one.
@discardableResult
public func SecKeyGetTypeID() -> CFTypeID { SecKey.typeID }

/// The public key to a key.
///
/// - Parameter key: A key.
/// - Returns: The public half of a private key; of a public key an equal one.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? {
    SecKey(key.implementation.publicKey)
}

/// The size of what a key works on.
///
/// - Parameter key: A key.
/// - Returns: Bytes of an RSA modulus, or of a coordinate of a curve: 66 for P-521.
@discardableResult
public func SecKeyGetBlockSize(_ key: SecKey) -> Int {
    key.implementation.blockSize
}

/// The bytes of a key.
///
/// - Parameters:
///   - key: A key.
///   - error: Takes the reason where the bytes do not leave where they are.
/// - Returns: PKCS#1 for RSA; `04 ‖ X ‖ Y` for a public key of a curve and `04 ‖ X ‖ Y ‖ K` for a private one.
@discardableResult
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe storing(error, in: "\(key.kind) export") { try key.implementation.externalRepresentation() as NSData }
}

/// What a key is and what it can be used for, by `kSecAttr…` keys.
///
/// > Warning: Of a private key it holds the bytes, under `kSecValueData`, as Apple's does, unless the key is the enclave's.
///
/// - Parameter key: A key.
/// - Returns: The attributes.
@discardableResult
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    let attributes = NSMutableDictionary()
    for (name, value) in key.itemAttributes.merging(key.implementation.furtherAttributes, uniquingKeysWith: { $1 }) {
        attributes[name.rawValue as NSString] = value.object
    }
    attributes[kSecClass] = kSecClassKey
    // Constants in the dictionary of a key, numbers in that of its item.
    for name in [kSecAttrKeyClass, kSecAttrKeyType] {
        attributes[name] = (attributes[name] as? NSNumber)?.stringValue as NSString?
    }
    if let data = try? key.implementation.externalRepresentation() {
        attributes[kSecValueData] = data as NSData
    }
    return attributes
}
