internal import Foundation
package import TouchstoneCore
package import TouchstoneInterfaces
package import TouchstoneTransport

/// A refused call, and the line on standard error that explains it.
///
/// Such lines are made and printed only here.
///
/// The device gives the cause, but some causes only this side can know, such as that no device answers. A line holds
/// nothing of the app, so it has no name, no attribute, no reason and no secret.
package struct RefusedCall {
    private let function: String
    private let code: Int
    private let wanted: String?
    /// A word of `RefusalCause`, or a newer one; nil if an older device gave none.
    private let reason: String?
    /// Of the app's dictionary, where it is in the way.
    private let key: AttributeKey?

    /// `function` is what the app called, up to a bracket; `wanted` what the owner would have had to prove, in words.
    package init(_ function: String, _ failed: AuthenticationInterface.Failed, wanted: String?) {
        self.init(function, code: failed.code.rawValue, wanted: wanted, reason: failed.reason)
    }

    /// nil for what needs no explanation: nothing was found, it is there already, the owner cancelled.
    package init?(_ function: String, _ failure: any Error, wanted: AccessControl?) {
        let status = Status(failure: failure)
        let refused: [Status] = [
            .authFailed, .interactionNotAllowed, .missingEntitlement, .notAvailable, .diskFull, .decode,
        ]
        let isOfDictionary = [.param, .noSuchAttr].contains(status) && function.hasPrefix("SecItem")
        guard refused.contains(status) || isOfDictionary else { return nil }
        var (code, wanted, reason) = (Int(status.rawValue), wanted, String?.none)
        var key: AttributeKey?
        // AC-45: what uses a key hands out the token's own errors.
        let answersWithStatus = function.hasPrefix("SecItem") || function == "SecKeyCreateRandomKey"
        switch failure {
        case let failed as AuthenticationInterface.Failed:
            if !answersWithStatus { code = failed.code.rawValue }
            reason = failed.reason
        case let remote as RemoteError:
            if let failed = remote.as(KeychainInterface.Failed.self) {
                (reason, wanted) = (failed.reason, failed.accessControl ?? wanted)
                key = failed.key.map(AttributeKey.init(rawValue:))
            } else if let failed = remote.as(KeyInterface.Failed.self) {
                (reason, wanted) = (failed.reason, failed.accessControl ?? wanted)
                if !answersWithStatus, let told = AuthenticationInterface.Failed(behind: failure) {
                    code = told.code.rawValue
                }
            } else if let invalidated = remote.as(KeyInterface.Invalidated.self) {
                if !answersWithStatus { code = Self.invalidated }
                reason = invalidated.reason
            } else if remote.as(VarlinkServiceError.PermissionDenied.self) != nil {
                reason = RefusalCause.unknownApp.rawValue
            }
        case let refused as RefusedKey: key = refused.key
        case TransportError.unreachable: reason = RefusalCause.noDevice.rawValue
        case is TransportError: reason = RefusalCause.connectionLost.rawValue
        default: break
        }
        // A full disk and unreadable data are not refusals. A quota that is used up is one, and has a reason.
        if [.diskFull, .decode].contains(status), reason == nil { return nil }
        self.init(function, code: code, wanted: wanted?.words, reason: reason, key: key)
    }

    private init(_ function: String, code: Int, wanted: String?, reason: String?, key: AttributeKey? = nil) {
        self.function = function.firstIndex(of: "(").map { String(function[..<$0]) } ?? function
        self.code = code
        self.wanted = wanted
        self.reason = reason
        self.key = key
    }

    /// Prints the line, where `TOUCHSTONE_EXPLAIN=1` asks for it, and always where the device is a test's own: there each line once.
    package func explain(on endpoint: any VarlinkEndpoint) {
        guard reason != RefusalCause.ownerCancelled.rawValue else { return }
        let line: String
        if let told = endpoint.refusalLines {
            line = self.line(inTest: true)
            guard told.isNew(line) else { return }
        } else {
            guard Self.isWanted else { return }
            line = self.line(inTest: false)
        }
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }

    /// `inTest` says whether the advice names the test kit's calls, and not commands.
    func line(inTest: Bool) -> String {
        let known = reason.flatMap(RefusalCause.init)
        let what =
            known?.explanation ?? reason.map {
                "the device says \"\($0.filter { $0.isASCII && $0.isLetter }.prefix(40))\""
            } ?? dictionaryFault?.what ?? "the device does not say why"
        let step =
            known.map { inTest ? $0.stepInTest : $0.step } ?? dictionaryFault?.step ?? "touchstone log --refused"
        return "touchstone: \(function) \(code): \(wanted.map { "\($0), and " } ?? "")\(what). Try: \(step)"
    }

    /// What is wrong with the app's dictionary, and one thing to do next; nil where that is not why the call was refused.
    private var dictionaryFault: (what: String, step: String)? {
        let status = Status(rawValue: Int32(clamping: code))
        guard [.param, .noSuchAttr].contains(status) else { return nil }
        guard let key else {
            return ("two keys contradict each other, or the call does not take one of them", "the call with fewer keys")
        }
        guard let name = AttributeKey.constantNames[key] else {
            return ("Security has no constant for one of the keys", "the call without it")
        }
        if status == .noSuchAttr { return ("\(name) is not an attribute of this class", "the call without it") }
        return ("the call does not take \(name), or not with this value", "another value, or the call without it")
    }

    private static let isWanted = ProcessInfo.processInfo.environment["TOUCHSTONE_EXPLAIN"] == "1"
    /// Of `CryptoTokenKit` (AC-52).
    private static let invalidated = -3
}

extension AccessControl {
    /// Its constraints by the names of Apple's flags; else its class, where that wants a passcode.
    package var words: String? {
        let names: [(Flags, String)] = [
            (.userPresence, "userPresence"), (.devicePasscode, "devicePasscode"), (.biometryAny, "biometryAny"),
            (.biometryCurrentSet, "biometryCurrentSet"), (.companion, "companion"),
        ]
        let constraints = names.filter { flags.contains($0.0) }.map(\.1)
            .joined(separator: flags.contains(.or) ? " or " : " and ")
        let all = [constraints, flags.contains(.applicationPassword) ? "applicationPassword" : ""].filter {
            !$0.isEmpty
        }
        if !all.isEmpty { return all.joined(separator: " and ") }
        return protection == .whenPasscodeSetThisDeviceOnly ? "whenPasscodeSetThisDeviceOnly" : nil
    }
}
