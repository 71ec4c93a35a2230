internal import Crypto
public import Foundation

/// How a try of the login password as the device's passcode ended (PM-24).
public enum PasscodeTry: Equatable, Sendable {
    /// The device looked at nothing, and counted nothing.
    case notTried
    /// It is not the passcode, and was counted.
    case wrong
    /// Nobody knows whether it was counted.
    case unknown

    /// What an error of `io.touchstone.Device.Unlock` means.
    ///
    /// - Parameter error: Its name; nil if the device did not answer.
    public init(error: String?) {
        switch error {
        case "io.touchstone.Device.PasscodeRejected": self = .wrong
        case "io.touchstone.Device.Refused": self = .notTried
        default: self = .unknown
        }
    }
}

/// What is noted before a try, in case nobody hears how it ended (PM-24).
public struct NotedTry: Equatable, Sendable {
    /// Most bytes of a note.
    public static let longest = 256

    /// Wrong passcodes in a row that the device had counted.
    private let failures: Int
    /// SHA-256 of the keys that root had enrolled, in hexadecimal digits.
    private let enrolment: String

    /// A note.
    ///
    /// - Parameters:
    ///   - failures: Wrong passcodes in a row that the device counts now.
    ///   - keys: What root enrolled.
    public init(failures: Int, _ keys: EnrolledKeys) {
        self.failures = failures
        enrolment = SHA256.hash(data: Data(keys.text.utf8)).map { String(format: "%02x", $0) }.joined()
    }

    /// Reads a note; nil if it is not what ``text`` gives.
    public init?(_ text: Data) {
        let words = String(decoding: text, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let failures = Int(words[0]), failures >= 0, words[1].hasSuffix("\n") else {
            return nil
        }
        self.failures = failures
        enrolment = String(words[1].dropLast())
    }

    /// What is kept.
    public var text: Data { Data("\(failures) \(enrolment)\n".utf8) }

    /// Whether there may be another try although nobody heard how this one ended.
    ///
    /// If it was wrong, the device has counted more failures since, or a right passcode has set them to zero. Root has enrolled nothing else
    /// meanwhile.
    ///
    /// - Parameter next: What would be noted for the next try.
    /// - Returns: Whether this cannot have cost a failure that still counts.
    public func allows(_ next: NotedTry) -> Bool { next.failures <= failures && next.enrolment == enrolment }
}
