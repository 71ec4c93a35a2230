public import Foundation

/// The null object, which as the value of `kSecMatchValidOnDate` means now.
public let kCFNull: CFNull! = NSNull()
