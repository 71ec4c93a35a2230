internal import SwiftASN1

extension ASN1Node {
    /// Seconds from 2001-01-01 00:00:00 UTC to a point in time; nil for another type, and for a date that does not exist.
    ///
    /// Beside what RFC 5280 wants this reads times without seconds and times with an offset, which old certificates have.
    var secondsSinceReferenceDate: Double? {
        if let bytes = bytes(.utcTime) {
            return Self.seconds(bytes, digitsOfYear: 2, canOmitSeconds: true)
        }
        return bytes(.generalizedTime).flatMap { Self.seconds($0, digitsOfYear: 4, canOmitSeconds: false) }
    }

    private static func seconds(_ bytes: ArraySlice<UInt8>, digitsOfYear: Int, canOmitSeconds: Bool) -> Double? {
        let digits = bytes.prefix { isDigit($0) }
        let zone = bytes.dropFirst(digits.count)
        let withSeconds = digits.count == digitsOfYear + 10
        guard withSeconds || (canOmitSeconds && digits.count == digitsOfYear + 8), let offset = offset(zone) else {
            return nil
        }
        var rest = digits
        var year = take(digitsOfYear, from: &rest)
        // RFC 5280, 4.1.2.5.1.
        if digitsOfYear == 2 { year += year < 50 ? 2000 : 1900 }
        let (month, day) = (take(2, from: &rest), take(2, from: &rest))
        let (hour, minute) = (take(2, from: &rest), take(2, from: &rest))
        let second = withSeconds ? take(2, from: &rest) : 0
        guard (1...12).contains(month), (1...days(in: month, of: year)).contains(day), hour < 24, minute < 60,
            second < 60
        else { return nil }
        return Double(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset)
    }

    /// Seconds east of UTC: `Z`, or a sign, hours and minutes.
    private static func offset(_ zone: ArraySlice<UInt8>) -> Int? {
        if zone.elementsEqual([UInt8(ascii: "Z")]) { return 0 }
        guard zone.count == 5, let sign = zone.first, zone.dropFirst().allSatisfy(isDigit) else { return nil }
        var rest = zone.dropFirst()
        let (hours, minutes) = (take(2, from: &rest), take(2, from: &rest))
        guard hours < 24, minutes < 60 else { return nil }
        switch sign {
        case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
        default: return nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func take(_ count: Int, from digits: inout ArraySlice<UInt8>) -> Int {
        defer { digits = digits.dropFirst(count) }
        return digits.prefix(count).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 2001-01-01 of the Gregorian calendar, in years that begin with March so that the leap day is their last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let march = month > 2 ? month - 3 : month + 9
        let year = (month > 2 ? year : year - 1) + 400
        let inYear = (153 * march + 2) / 5 + day - 1
        return 365 * year + year / 4 - year / 100 + year / 400 + inYear - daysToReferenceDate
    }

    /// What the sum above is for 2001-01-01.
    private static let daysToReferenceDate = 365 * 2400 + 2400 / 4 - 2400 / 100 + 2400 / 400 + 306
}
