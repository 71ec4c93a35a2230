internal import Foundation
internal import TouchstoneCore
internal import TouchstoneCoreFoundation

extension AttributeValue {
    /// The value of an entry of a dictionary; nil for a type that no attribute has.
    init?(_ object: AnyObject) {
        switch object {
        case let string as NSString: self = .string(string as String)
        // Bridging goes byte by byte.
        case let data as NSData: self = .data(Data(referencing: data))
        case let number as NSNumber:
            guard let value = AttributeValue(number) else { return nil }
            self = value
        case let date as NSDate: self = .date(date.timeIntervalSinceReferenceDate)
        case let control as SecAccessControl: self = .accessControl(control.value)
        default: return nil
        }
    }

    private init?(_ number: NSNumber) {
        if CFGetTypeID(number) == CFBooleanGetTypeID() {
            self = .boolean(number.boolValue)
            return
        }
        switch UInt8(bitPattern: unsafe number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .real(number.doubleValue)
        case UInt8(ascii: "Q"):
            guard let value = Int64(exactly: number.uint64Value) else { return nil }
            self = .number(value)
        default: self = .number(number.int64Value)
        }
    }

    /// The object that a result has for this value.
    var object: AnyObject {
        switch self {
        case .string(let string): string as NSString
        case .data(let data): data as NSData
        case .number(let number): NSNumber(value: number)
        case .real(let real): NSNumber(value: real)
        case .boolean(let boolean): NSNumber(value: boolean)
        case .date(let date): NSDate(timeIntervalSinceReferenceDate: date)
        case .accessControl(let control): SecAccessControl(control)
        }
    }
}
