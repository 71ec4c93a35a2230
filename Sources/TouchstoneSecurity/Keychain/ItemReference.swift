internal import Foundation
internal import TouchstoneCore
import TouchstoneInterfaces

/// An object that stands for an item: what a query may have under `kSecValueRef` and get for `kSecReturnRef`.
///
/// An identity does not conform, because it stands for two items.
protocol ItemReference: AnyObject {
    var itemClass: ItemClass { get }

    /// The attributes that follow from the object; those that a caller gives beside it win.
    var itemAttributes: KeychainInterface.Dictionary { get }

    /// The `kSecAttrLabel` of an item that is added without one. No attribute to search by: it may have been changed.
    var inferredLabel: String? { get }

    /// What else to search by, where the attributes may be those of several items.
    var tellingAttributes: KeychainInterface.Dictionary { get }

    /// What the item keeps encrypted; nil for a key whose bytes do not leave where they are.
    var itemData: Data? { get }
}

extension ItemReference {
    var inferredLabel: String? { nil }
    var tellingAttributes: KeychainInterface.Dictionary { [:] }
}
