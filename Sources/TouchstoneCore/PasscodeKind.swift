/// What a passcode is made of, as its owner chose it: whoever asks for it can show the right keys (PC-06).
///
/// It is no secret: a lock screen shows it.
package enum PasscodeKind: String, Codable, Hashable, Sendable, CaseIterable {
    case fourDigit, sixDigit
    /// Digits, as many as the owner likes.
    case numeric
    case alphanumeric

    /// Whether these bytes of UTF-8 are a passcode of this kind.
    ///
    /// Digits are 0 to 9, the ones that every pad of digits has; those of other scripts are characters of an alphanumeric passcode.
    package func includes(_ passcode: some Collection<UInt8>) -> Bool {
        let isDigits = passcode.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return switch self {
        case .fourDigit: isDigits && passcode.count == 4
        case .sixDigit: isDigits && passcode.count == 6
        case .numeric: isDigits
        case .alphanumeric: true
        }
    }
}
