import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone device status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of a device.",
        discussion:
            "Exit status: 0 it is booted and answers, 69 there is no such device, it is off, or it does not answer."
    )

    @OptionGroup var device: DeviceArgument
    @Flag(help: "As JSON.") var json = false

    private struct Off: Encodable {
        var name: String
        var state = "off"
        var biometry: String?
    }

    /// The status as the device gives it, with the state and the sensor's name beside it.
    private static func booted(_ status: DeviceInterface.Status) throws -> JSONValue {
        guard case .object(var members) = try JSONValue(status) else { return .null }
        members["state"] = .text("booted")
        members["biometry"] = .text(Biometry(status.biometryType).rawValue)
        return .object(members)
    }

    func run() throws {
        let paths = try device.paths
        if !paths.isSystem { try DeviceDirectory.check(paths) }
        guard paths.isSystem || SupervisorLock.holder(paths) != nil else {
            let biometry = DeviceDirectory.biometry(paths)
            if json {
                try StandardOutput.json(Off(name: paths.name, biometry: biometry?.rawValue))
            } else {
                for line in Table.lines([
                    ["Device", paths.name], ["State", "off"], ["Biometry", biometry?.title ?? "unknown"],
                ]) { StandardOutput.say(line) }
            }
            throw Failure(.unavailable, paths.advice)
        }
        let status = try DeviceClient(paths).status
        if json {
            try StandardOutput.json(Self.booted(status))
        } else {
            for line in Table.lines(status.rows) { StandardOutput.say(line) }
            if status.isSimulated {
                StandardOutput.say("")
                StandardOutput.say(status.simulationLine)
            }
        }
    }
}

extension PasscodeKind {
    /// For people.
    fileprivate var title: String {
        switch self {
        case .fourDigit: "four digits"
        case .sixDigit: "six digits"
        case .numeric: "numeric"
        case .alphanumeric: "alphanumeric"
        }
    }
}

extension DeviceInterface.Sensor {
    /// For people: what it is, what is wrong with it, and how far it can be trusted.
    var line: String {
        let name = self.name.flatMap { $0.isEmpty ? nil : " (\(PlainText.line($0)))" } ?? ""
        return "\(kind.rawValue)\(name), " + (fault.map { "not working: \($0)" } ?? worth)
    }

    /// Why it does not work; nil: it does.
    var fault: String? {
        switch problem {
        case nil: nil
        case .starting: "it has not been asked yet"
        case .noBus: "its D-Bus does not answer"
        case .noService:
            kind == .pam
                ? "there is no such PAM service, or touchstone-pam-verify is not installed"
                : "fprintd is not running, and nothing starts it"
        case .noReader: kind == .simulated ? "it is unplugged" : "fprintd has no reader"
        case .otherReader:
            "the fingers were enrolled on another reader; plug that one in, or move to this one with "
                + "'touchstone device sensor forget'"
        case .unknownOwner:
            "its owner is not in /etc/passwd, the only place where names are looked up; 'getent passwd UID' prints the line to add"
        case .notAllowed: "fprintd does not let this user use the reader"
        case .notAnswering: "\(kind.rawValue) answers too late, or sends nonsense"
        case .templatesUnreadable: "fprintd's templates cannot be read any more; let this user read them again"
        }
    }

    var worth: String {
        if kind == .simulated { return "plugged in" }
        if isWeak {
            return "weak: a PAM service decides; it counts like the passcode if a finger or the passcode is accepted"
        }
        return areTemplatesRead
            ? "the enclave reads it directly, and sees any change of the enrolled fingers"
            : "the enclave reads it directly, but does not see a finger that is enrolled again under the same name while the device is off"
    }
}

extension DeviceInterface.Status {
    /// For people: what it is, and how it is.
    var rows: [[String]] {
        [
            ["Device", isSimulated ? "\(name) (simulated)" : name],
            ["State", "booted, " + (isLocked ? "locked" : "unlocked")],
            ["Root of trust", rootOfTrustLine],
            ["Private keys", privateKeysLine],
            ["Biometry", biometryLine],
        ]
            + (sensor.map { [["Sensor", $0.line]] } ?? []) + [
                ["Passcode", passcodeLine],
                [
                    "Agent",
                    hasAgent
                        ? (hasPrompt ? "connected, showing a prompt" : "connected") : "none, so prompts fail at once",
                ],
            ]
    }

    /// What a simulated device is not worth.
    fileprivate var simulationLine: String {
        let isCopied = rootOfTrust == "software"
        let parts = (isCopied ? ["its key file"] : []) + (sensor?.kind == .simulated ? ["its finger"] : [])
        return "A simulated device is for development: "
            + (parts.isEmpty ? "" : parts.joined(separator: ", ") + " and ")
            + "its daemons run as you, so any program that runs as you can \(isCopied ? "copy it, " : "")drive it or stop it."
    }

    private var privateKeysLine: String {
        areKeysInTPM == true
            ? "P-256 keys are made and used in the TPM, others in the enclave" : "made and used in the enclave"
    }

    var rootOfTrustLine: String {
        switch rootOfTrust {
        case "software": "software (key file)"
        case "tpm2": "TPM 2.0"
        case "swtpm": "swtpm (a TPM that is a program, and anybody who runs it can copy its keys)"
        default: PlainText.line(rootOfTrust)
        }
    }

    private var biometryLine: String {
        guard biometryType != .none else { return "none" }
        let title = Biometry(biometryType).title
        guard isEnrolled else { return "\(title), nothing enrolled" }
        return isBiometryLockedOut ? "\(title), the passcode is required first" : "\(title), enrolled"
    }

    private var passcodeLine: String {
        guard isPasscodeSet else {
            return wasErased ? "not set, because the device was erased after too many wrong passcodes" : "not set"
        }
        if isPasscodeDisabled { return "set, but refused: after ten wrong ones the next boot erases the device" }
        var parts = [passcodeKind.map { "set (\($0.title))" } ?? "set"]
        if erasesData { parts.append("erases the device after ten wrong ones") }
        if !wasUnlockedSinceBoot { parts.append("not entered since boot") }
        if passcodeFailures > 0 { parts.append("\(passcodeFailures) wrong in a row") }
        if let retry = passcodeRetryAfterSeconds, retry > 0 { parts.append("next in \(PlainText.seconds(retry)) s") }
        return parts.joined(separator: ", ")
    }
}
