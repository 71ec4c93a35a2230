import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore

/// `touchstone doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say what works here, and which promises do not hold.",
        discussion: "Exit status: 0 ready, 69 no device answers. Warnings do not change it.")

    @OptionGroup var device: DeviceArgument

    func run() throws {
        let paths = try device.paths
        let connection = Result { try DeviceConnection(paths) }
        let status = connection.flatMap { device in Result { try device.status } }
        var report = Report()
        switch status {
        case .success(let status):
            report.add(status, isSystem: paths.isSystem)
            report.addPromises(isSystem: paths.isSystem)
        case .failure(let error): report.add(.bad, "device", Failure.of(error, paths).message)
        }
        report.addMachine()
        for line in report.lines { StandardOutput.say(line) }
        guard case .success = status else { throw Failure(.unavailable, "\(paths.name) is not ready") }
    }
}

private struct Report {
    enum Mark: String { case good = "ok", warning = "!!", bad = "no" }

    private(set) var lines: [String] = []

    mutating func add(_ mark: Mark, _ topic: String, _ text: String) {
        lines.append("[\(mark.rawValue)] \(topic): \(text)")
    }

    mutating func add(_ status: DeviceInterface.Status, isSystem: Bool) {
        add(
            .good, "device", "\(status.name) answers" + (status.isSimulated ? "; it is simulated, for development" : "")
        )
        if status.rootOfTrust == "software" {
            add(
                .warning, "root of trust",
                "a key file: whoever copies the device's directory can guess its passcode elsewhere, as fast as they like"
            )
        } else {
            add(.good, "root of trust", "\(PlainText.line(status.rootOfTrust)): a copied directory opens nowhere else")
        }
        if status.rootOfTrust == "software" {
            add(
                .warning, "old copies",
                isSystem
                    ? "an older copy of the device's files that root puts back gives passcode tries back; it is noticed until the machine "
                        + "restarts"
                    : "an older copy of the device's files that is put back gives passcode tries back; it is noticed until you log out or "
                        + "the machine restarts, unless whoever did it can write to your runtime directory too")
        }
        if status.isSimulated {
            add(
                .warning, isSystem ? "simulated" : "daemons",
                isSystem
                    ? "made for tests: any program of yours can present its fingers"
                    : "run as you: other programs of yours cannot read their memory (it is undumpable), but can read their files, "
                        + "\(status.sensor == nil ? "present simulated fingers " : "")and replace the programs themselves"
            )
        }
        if status.isPasscodeSet {
            add(
                status.isPasscodeDisabled ? .bad : .good, "passcode",
                status.isPasscodeDisabled ? "refused for good after too many wrong ones; erase the device" : "set")
        } else {
            add(
                .warning, "passcode",
                (status.wasErased ? "gone: the device was erased after too many wrong ones; " : "")
                    + "not set: items that want the owner are refused; 'touchstone device passcode set'"
            )
        }
        switch (Biometry(status.biometryType), status.isEnrolled) {
        case (.none, _): add(.good, "biometry", "none; the passcode is asked for")
        case (let kind, false):
            let enroll = status.sensor == nil ? "touchstone device enroll FINGER" : "fprintd-enroll"
            add(.warning, "biometry", "\(kind.title), nothing enrolled: '\(enroll)'")
        case (let kind, true):
            add(
                status.isBiometryLockedOut ? .warning : .good, "biometry",
                status.isBiometryLockedOut
                    ? "\(kind.title) waits for the passcode: 'touchstone device unlock'" : kind.title)
        }
        if let sensor = status.sensor { add(sensor) }
        add(
            status.hasAgent ? .good : .warning, "agent",
            status.hasAgent ? "connected" : "none, so nothing can ask the owner: run 'touchstone agent'")
    }

    /// What holds, and what does not, because of who runs the daemons.
    mutating func addPromises(isSystem: Bool) {
        guard isSystem else {
            return add(
                .warning, "session",
                "locking your login session, or putting the machine to sleep, does not lock the device: only the enclave of the system's "
                    + "service hears of it")
        }
        add(
            .good, "daemons",
            "run as users of their own: no program of yours can read their memory or files, answer in their place or hold back a lock"
        )
        add(
            .warning, "apps",
            "an app is known by the file it runs: a program of yours can have one of your apps work for it (LD_PRELOAD, ptrace), and gets "
                + "what that app gets without a proof of yours; what wants your finger or passcode still asks for it")
    }

    private mutating func add(_ sensor: DeviceInterface.Sensor) {
        if let fault = sensor.fault { return add(.bad, "sensor", "\(fault), so the passcode is asked for") }
        if sensor.isWeak {
            return add(
                .warning, "sensor",
                "weak: the PAM service \(sensor.name.map(PlainText.line) ?? "") says that it knows you, and nobody can say how "
                    + "well; it opens what the passcode opens, biometry only where the device was created with --allow "
                    + "biometry-any, and never what is of the current set")
        }
        add(
            .good, "sensor",
            "\(sensor.name.map(PlainText.line) ?? sensor.kind.rawValue), through \(sensor.kind.rawValue): this machine's word "
                + "that it saw the finger, which root can forge")
        guard !sensor.areTemplatesRead else { return }
        add(
            .warning, "enrolment",
            "known by the fingers' names, as fprintd's templates are root's to read: a finger that is enrolled anew under "
                + "the same name while the device is off is not seen by items of the current set")
    }

    /// What is so whatever the device.
    mutating func addMachine() {
        let swaps = (try? String(contentsOfFile: "/proc/swaps", encoding: .utf8))?.split(separator: "\n").dropFirst()
        switch swaps {
        case .some(let swaps) where swaps.isEmpty: add(.good, "swap", "off")
        case .some(let swaps):
            let areas = swaps.compactMap { $0.split(separator: " ").first.map { PlainText.line(String($0)) } }
            add(
                .warning, "swap",
                "on (\(areas.joined(separator: ", "))): keys are locked in memory, but what apps read can reach it unless it is "
                    + "encrypted")
        case nil: add(.warning, "swap", "unknown: /proc/swaps cannot be read")
        }
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else {
            return add(.warning, "locked memory", "unknown")
        }
        let room = limit.rlim_cur == rlim_t.max ? "no limit" : "\(limit.rlim_cur >> 10) KiB"
        if limit.rlim_cur >= Self.enoughLockedBytes {
            add(.good, "locked memory", room)
        } else {
            add(
                .warning, "locked memory",
                "\(room) (ulimit -l): keys beyond it can be swapped out; \(Self.enoughLockedBytes >> 10) KiB are enough"
            )
        }
    }

    private static let enoughLockedBytes: rlim_t = 1 << 20
}
