import Foundation
import TouchstoneLog

/// The log in words, for its table.
///
/// `--json` has the constants themselves.
enum LogWords {
    /// What happened, and what for.
    static func event(_ entry: LogEntry) -> String {
        var words = events[entry.event] ?? entry.event.replacingOccurrences(of: "-", with: " ")
        if entry.result != "ok" { words = failures[entry.event] ?? words }
        guard let asked = entry.asked else { return words }
        if entry.event == "key-used" { return "\(words) to \(operations[asked] ?? asked)" }
        let what = asked.split(separator: " ").map { requirements[String($0)] ?? spelledOut(String($0)) }
        return "\(words): \(what.joined(separator: " "))"
    }

    static func factors(_ factors: [LogFactor]) -> String {
        factors.map {
            switch $0 {
            case .touchID: "finger"
            case .faceID: "face"
            case .opticID: "eyes"
            case .passcode: "passcode"
            case .applicationPassword: "app's password"
            case .reuse: "earlier proof"
            }
        }.joined(separator: " + ")
    }

    /// `ok`, or why not.
    static func result(_ result: String) -> String {
        results[result] ?? spelledOut(result)
    }

    /// `faceIDDenied` as `face ID denied`; what is already words stays as it is.
    static func spelledOut(_ constant: String) -> String {
        let characters = Array(constant.replacingOccurrences(of: "-", with: " "))
        var words: [String] = [""]
        for (place, character) in characters.enumerated() {
            let before = place > 0 ? characters[place - 1] : " "
            let after = place + 1 < characters.count ? characters[place + 1] : " "
            let beginsWord = character.isUppercase && (before.isLowercase || (before.isUppercase && after.isLowercase))
            if beginsWord { words.append("") }
            words[words.count - 1].append(character)
        }
        return words.map { $0.count > 1 && $0.allSatisfy(\.isUppercase) ? $0 : $0.lowercased() }.joined(separator: " ")
    }

    private static let events = [
        "evaluation-began": "asked for", "evaluation-ended": "answered",
        "biometry-rejected": "wrong finger or face", "biometry-locked-out": "fingers and faces locked out",
        "biometry-enrolled": "finger or face added", "biometry-removed": "finger or face removed",
        "erase-data-changed": "erasing after wrong passcodes changed", "permission-decided": "permission for Face ID",
        "backup-authorized": "backup allowed", "backup-exported": "backup written", "backup-imported": "backup read",
        "circle-changed": "circle of devices changed",
        "items-accepted": "altered items accepted", "agent-connected": "prompts can be shown",
        "agent-lost": "no more prompts can be shown", "log-interrupted": "entries were lost",
        "others": "too many to tell apart",
    ]

    /// Where the other words would say that it happened.
    private static let failures = [
        "item-opened": "item not opened", "key-used": "key not used", "key-created": "key not created",
    ]

    private static let operations = [
        "create": "make something", "read": "read", "sign": "sign", "decrypt": "decrypt",
        "key exchange": "agree on a secret",
    ]

    private static let requirements = [
        "biometryAny": "finger or face", "biometryCurrentSet": "finger or face of this set",
        "presence": "finger, face or passcode",
        "applicationPassword": "app's password", "companion": "companion device",
    ]

    private static let results = [
        "userCancel": "you cancelled", "appCancel": "the app cancelled", "systemCancel": "the device ended it",
        "userFallback": "you chose another way", "authenticationFailed": "not recognised, and too many tries",
        "biometryLockout": "passcode needed first", "biometryNotAvailable": "the sensor does not work",
        "biometryNotEnrolled": "nothing is enrolled", "passcodeNotSet": "no passcode is set",
        "notInteractive": "the app allowed no prompt", "invalidated": "can never be used again",
        "enrolment-changed": "cannot be opened any more, because the fingers changed", "not-matched": "not recognised",
        "noAgent": "nothing could show a prompt", "wrong": "wrong passcode",
        "wrong-application-password": "wrong app's password", "log-cut": "part of the log is missing",
        "state-restored": "an older copy of the device",
    ]
}
