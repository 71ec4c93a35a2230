import Foundation
import Glibc
import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// What is to be said of one device, whether it is there, off or booted.
struct DeviceCheck {
    private let paths: DevicePaths
    let state: DoctorReport.DeviceState
    /// nil: it does not answer.
    let status: DeviceInterface.Status?
    private(set) var findings: [Finding] = []

    init(_ paths: DevicePaths) {
        self.paths = paths
        guard !paths.isSystem else {
            do throws(DeviceOwner.Changed) {
                try DeviceOwner.check(getuid(), in: paths.state)
            } catch {
                (state, status) = (.off, nil)
                add(
                    .bad, .device,
                    "the system's device with your user number is not yours: it was made for '\(PlainText.line(error.recorded))', who no longer exists",
                    fix: "sudo touchstone system remove \(getuid()) && sudo touchstone setup")
                return
            }
            switch Result(catching: { try Self.status(paths) }) {
            case .success(let status):
                (state, self.status) = (.booted, status)
                add(.good, .device, "\(paths.name) answers, and is \(status.isLocked ? "locked" : "unlocked")")
                add(
                    .good, .daemons,
                    "run as separate users. No program of yours can read their memory or files, answer in their place or delay a "
                        + "lock. The device locks with your session and before the machine sleeps")
                check(status)
                if let connection = try? DeviceClient(paths) {
                    checkLog(connection)
                    checkKeychain(connection)
                    checkSync(connection)
                }
                checkOwnerPrograms()
            case .failure(let error):
                guard FileManager.default.fileExists(atPath: paths.state.path) else {
                    (state, status) = (.absent, nil)
                    add(
                        .bad, .device, "the system keeps no device for you; root can make one",
                        fix: "sudo touchstone setup")
                    return
                }
                (state, status) = (.off, nil)
                add(
                    .bad, .device, "the system's device does not answer: \(Failure.of(error, paths).message)",
                    fix: "sudo systemctl restart touchstone-enclave@\(geteuid()).socket touchstoned@\(geteuid()).socket"
                )
            }
            return
        }
        guard paths.exists else {
            (state, status) = (.absent, nil)
            add(.bad, .device, paths.absence, fix: command("setup"))
            return
        }
        // systemd would boot the device for a question.
        guard !PassedSocket.isWaiting(paths) else {
            (state, status) = (.waiting, nil)
            add(.good, .device, "\(paths.name) is off, and boots when it is first used")
            checkFiles()
            return
        }
        do {
            let status = try Self.status(paths)
            let connection = try DeviceClient(paths)
            (state, self.status) = (.booted, status)
            add(
                .good, .device,
                "\(paths.name) answers, and is \(status.isLocked ? "locked" : "unlocked")"
                    + (status.isSimulated && status.sensor?.kind == .simulated
                        ? "; its fingers are simulated, for development" : ""))
            checkFiles()
            if let supervisor = SupervisorLock.holder(paths) { checkDaemons(of: supervisor) }
            check(status)
            checkLog(connection)
            checkKeychain(connection)
            checkSync(connection)
        } catch {
            (state, status) = (.off, nil)
            if SupervisorLock.holder(paths) == nil {
                add(.bad, .device, "\(paths.name) is off", fix: command("device boot --detach"))
            } else {
                add(
                    .bad, .device, "\(paths.name) is booted but does not answer: \(Failure.of(error, paths).message)",
                    fix: PassedSocket.isActive(paths)
                        ? "systemctl --user restart touchstone@\(paths.name).service"
                        : "\(command("device shutdown")) && \(command("device boot --detach"))")
            }
            checkFiles()
        }
    }

    /// Which programs root gave the owner's interface, and what of that list is not used.
    private mutating func checkOwnerPrograms() {
        let listed = OwnerPrograms { _ in }.read()
        let usable = listed.programs.filter { !$0.hasPrefix("/") || OwnerPrograms.refusal(ofExecutable: $0) == nil }
        for problem in listed.problems { add(.warning, .ownerPrograms, PlainText.line(problem)) }
        guard !usable.isEmpty else {
            return add(
                .bad, .ownerPrograms,
                "no program may use the owner's interface, because there is no file in "
                    + "\(OwnerPrograms.system.joined(separator: " or ")) names a program that only root can change")
        }
        add(
            .good, .ownerPrograms,
            "root gave the owner's interface to \(usable.map(PlainText.line).joined(separator: ", "))")
    }

    /// Longest wait for an answer, in seconds.
    private static let patience = 5.0

    private final class Answer: Sendable {
        let result = Mutex<Result<DeviceInterface.Status, Failure>?>(nil)
    }

    /// Asked from another thread, because a device that hangs blocks it.
    private static func status(_ paths: DevicePaths) throws -> DeviceInterface.Status {
        let answer = Answer()
        let isAnswered = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let result = Result { try DeviceClient(paths).status }.mapError { Failure.of($0, paths) }
            answer.result.withLock { $0 = result }
            isAnswered.signal()
        }
        guard isAnswered.wait(timeout: .now() + patience) == .success, let result = answer.result.withLock({ $0 })
        else {
            throw Failure(.unavailable, "no answer within \(Int(patience)) seconds")
        }
        return try result.get()
    }

    private mutating func add(_ state: Finding.State, _ topic: Finding.Topic, _ text: String, fix: String? = nil) {
        findings.append(Finding(state, topic, text, fix: fix))
    }

    /// Of `touchstone`, for this device: named where it is not the one that is meant anyway.
    private func command(_ words: String, isOption: Bool = false) -> String {
        guard paths.name != DevicePaths.selected().name else { return "touchstone \(words)" }
        return "touchstone \(words)\(isOption || words == "setup" ? " --device" : "") \(paths.name)"
    }

    // MARK: files and daemons

    /// The daemons refuse such files too; here it is said before.
    private mutating func checkFiles() {
        var facts = stat()
        for directory in [paths.state, paths.enclave] {
            guard unsafe lstat(directory.path, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
                return add(
                    .bad, .files, "\(directory.path) does not exist, or is not a directory; restore it from a copy")
            }
            guard facts.st_mode & 0o077 == 0 else {
                return add(
                    .bad, .files, "other users can read \(directory.path)",
                    fix: "chmod -R go= \(Self.quoted(paths.state.path))")
            }
        }
        add(.good, .files, "\(paths.state.path), which only its owner can read")
        if unsafe lstat(EnclaveFiles(paths.enclave).recoveringTPM.path, &facts) == 0, facts.st_size > 0 {
            add(
                .warning, .rootOfTrust,
                "a recovery was interrupted, and may have left a counter in the TPM; the next recovery removes it",
                fix: command("device recover"))
        }
    }

    /// For a shell.
    private static func quoted(_ path: String) -> String {
        let plain = path.utf8.allSatisfy {
            $0 > 0x2A && $0 < 0x7B && ![0x3B, 0x3C, 0x3E, 0x3F, 0x5B, 0x5C, 0x5D, 0x5E, 0x60].contains($0)
        }
        return plain ? path : "'\(path.replacingOccurrences(of: "'", with: "'\\''"))'"
    }

    private mutating func checkDaemons(of supervisor: pid_t) {
        let daemons = RunningProcess.children(of: supervisor).filter {
            ["touchstoned", "touchstone-enclave"].contains($0.name)
        }
        guard daemons.count == 2 else {
            return add(
                .bad, .daemons, "they have just ended, or are about to start; look again", fix: command("doctor"))
        }
        let users = Set(daemons.map(\.user))
        add(
            .good, .daemons,
            users == [geteuid()]
                ? "touchstoned and touchstone-enclave run as you, version \(TouchstoneVersion.current)"
                : "touchstoned and touchstone-enclave run as \(users.count == 1 ? "another user" : "separate users")"
        )
        if daemons.allSatisfy({ $0.limit("Max core file size") == 0 }) {
            add(.good, .coreDumps, "the daemons leave no core dumps")
        } else {
            add(
                .bad, .coreDumps, "a daemon may leave a core dump with keys in it",
                fix: command("device reboot", isOption: true))
        }
        guard let enclave = daemons.first(where: { $0.name == "touchstone-enclave" }) else { return }
        let room = enclave.limit("Max locked memory") ?? 0
        if room >= Self.enoughLockedBytes {
            add(.good, .lockedMemory, "there is room for every key: \(room == .max ? "no limit" : "\(room >> 10) KiB")")
        } else {
            add(
                .warning, .lockedMemory,
                "there is room for only \(room >> 10) KiB, so keys may be swapped out; \(Self.enoughLockedBytes >> 10) KiB are enough, "
                    + "and count from your next login on",
                fix:
                    "echo '* - memlock \(Self.enoughLockedBytes >> 10)' | sudo tee /etc/security/limits.d/touchstone.conf"
            )
        }
    }

    private static let enoughLockedBytes: UInt64 = 1 << 20

    private mutating func checkLog(_ connection: DeviceClient) {
        do {
            let head = try connection.call(DeviceInterface.GetLogHead.self).head
            add(.good, .log, "\(head.sequence) entries; '\(command("log verify", isOption: true))' checks them")
        } catch {
            add(.bad, .log, Failure.of(error, paths).message)
        }
    }

    private mutating func checkKeychain(_ connection: DeviceClient) {
        do {
            let reply = try connection.call(BackupInterface.ListUse.self)
            let count = reply.uses.reduce(0) { $0 + $1.used.items }
            let items = count == 1 ? "1 item" : "\(count) items"
            guard reply.putAside > 0 else { return add(.good, .keychain, items) }
            add(
                .warning, .keychain,
                "\(items); damaged and put aside: \(reply.putAside). They are kept, and no app sees them; "
                    + "'\(command("keychain check", isOption: true))' looks for more")
        } catch {
            add(.bad, .keychain, Failure.of(error, paths).message)
        }
    }

    /// Whether it synchronizes, if it is in a circle.
    private mutating func checkSync(_ connection: DeviceClient) {
        guard let status = try? connection.circleStatus() else { return }
        guard status.circle != nil else {
            return add(.good, .sync, "off: this device is in no circle; 'touchstone sync --help' says how to begin")
        }
        let more = "'\(command("sync status", isOption: true))' says more"
        let others = status.members.count { !$0.isThisDevice }
        if status.isExpired {
            add(
                .bad, .sync, "this device was away for more than 180 days, and has to join its circle again",
                fix: command("sync leave", isOption: true))
        } else if status.members.contains(where: { $0.fault != nil }) {
            add(.bad, .sync, "the store, or another device, did something wrong; \(more)")
        } else if !SyncService.isRunning(paths) {
            add(
                .warning, .sync, "touchstone-sync does not run, so nothing comes and goes",
                fix: SyncService.startCommand(paths))
        } else {
            add(.good, .sync, "with \(others) other device\(others == 1 ? "" : "s"); \(more)")
        }
    }

    // MARK: the owner

    private mutating func check(_ status: DeviceInterface.Status) {
        switch status.rootOfTrust {
        case "software":
            add(
                .warning, .rootOfTrust,
                "a key file, which can be copied. Only the passcode protects a copy, so choose a long one",
                fix: status.isPasscodeSet ? command("device passcode change", isOption: true) : nil)
        case "tpm2":
            add(
                .good, .rootOfTrust,
                "a TPM 2.0. A copied directory opens on no other machine. The passcode can be guessed only here, at the TPM's pace. "
                    + "The device notices if an older copy is put back")
        case let kind:
            add(
                .warning, .rootOfTrust,
                "\(PlainText.line(kind)): a TPM that is a program, on this machine or on its host, and can be copied"
            )
        }
        if status.areKeysInTPM == true {
            add(
                .good, .rootOfTrust,
                "P-256 keys of apps are made in the TPM and never leave it. They are lost with it, and no recovery key brings them back; "
                    + "keys of ML-DSA and ML-KEM are not in it")
        }
        checkPasscode(status)
        checkBiometry(status)
        add(
            status.hasAgent ? .good : .warning, .agent,
            status.hasAgent
                ? "connected" : "no agent is connected, so nothing can ask the owner, and prompts fail at once",
            fix: status.hasAgent ? nil : command("agent", isOption: true))
    }

    private mutating func checkPasscode(_ status: DeviceInterface.Status) {
        guard status.isPasscodeSet else {
            return add(
                .warning, .passcode,
                (status.wasErased ? "the device was erased after too many wrong passcodes; " : "")
                    + "not set, so items that need the owner are refused",
                fix: command("device passcode set", isOption: true))
        }
        if status.isPasscodeDisabled {
            return add(
                .bad, .passcode,
                "refused. After ten wrong passcodes the device has to be erased, but its disk cannot be written; the next boot tries again",
                fix: command("device erase"))
        }
        let wait = status.passcodeRetryAfterSeconds.map { PlainText.seconds($0) } ?? 0
        add(
            wait > 0 ? .warning : .good, .passcode,
            wait > 0 ? "set; after \(status.passcodeFailures) wrong ones the next try is possible in \(wait) s" : "set")
    }

    private mutating func checkBiometry(_ status: DeviceInterface.Status) {
        guard let sensor = status.sensor else {
            return add(.good, .biometry, "no sensor; prompts ask for the passcode")
        }
        let title = Biometry(status.biometryType).title
        if let fault = sensor.fault {
            let (advice, fix) = remedy(sensor)
            add(.bad, .sensor, "\(fault)\(advice); until then prompts ask for the passcode", fix: fix)
        } else {
            let name = sensor.name.map(PlainText.line) ?? ""
            switch sensor.kind {
            case .simulated:
                add(.good, .sensor, "simulated: '\(command("device match FINGER", isOption: true))' is the finger")
            case .fprintd: add(.good, .sensor, "\(name.isEmpty ? "a reader" : name), through fprintd")
            case .pam:
                add(
                    .warning, .sensor,
                    "weak: the PAM service \(name) says that it recognises you, and nobody can say how well")
            }
        }
        if sensor.kind == .pam { return }
        guard status.isEnrolled else {
            let enroll =
                sensor.kind == .simulated ? command("device enroll right-index", isOption: true) : "fprintd-enroll"
            return add(.warning, .biometry, "\(title), nothing enrolled", fix: status.isPasscodeSet ? enroll : nil)
        }
        if status.isBiometryLockedOut, status.isPasscodeSet {
            add(
                .warning, .biometry, "\(title) waits for the passcode", fix: command("device unlock", isOption: true))
        } else {
            add(.good, .biometry, "\(title), enrolled")
        }
    }

    /// What to do about a sensor that does not work: words, or a command.
    private func remedy(_ sensor: DeviceInterface.Sensor) -> (advice: String, fix: String?) {
        switch (sensor.kind, sensor.problem) {
        case (.simulated, _): ("", command("device sensor connect", isOption: true))
        case (_, .starting): ("; look again", command("doctor"))
        case (.fprintd, .noBus): ("", "sudo systemctl start dbus")
        case (.fprintd, .noService): ("", "sudo apt install fprintd")
        case (.fprintd, .noReader): ("; plug it in", nil)
        case (.fprintd, .otherReader), (_, .unknownOwner): ("", nil)
        case (.fprintd, .notAllowed): (", because you are not at this machine's screen; log in there", nil)
        case (.fprintd, _): ("", "sudo systemctl restart fprintd")
        case (.pam, .noService): ("; its file has to be in /etc/pam.d", nil)
        case (.pam, _):
            ("; its module hangs or fails, and the system's log says why", "journalctl -b -t touchstone-pam-verify")
        }
    }
}

extension DeviceInterface.Status {
    /// What no command changes on a device of this kind.
    fileprivate func own(isSystem: Bool) -> [String] {
        let hands = sensor?.kind == .simulated ? "present simulated fingers, " : ""
        let daemons =
            isSystem
            ? (isSimulated ? ["it is for tests, because any program of yours can present its fingers"] : [])
            : [
                "its daemons run as you. Your other programs cannot read their memory (it is undumpable), but can read their files, "
                    + "\(hands)stop them and replace the programs themselves",
                sensor?.kind != .simulated
                    ? "it locks with your login session and before the machine sleeps only while it hears the login service, and your "
                        + "programs can prevent that"
                    : "it does not lock with your login session or before the machine sleeps, because its fingers are simulated",
            ]
        return daemons + [
            "an app's identity is a label: outside a sandbox it is the path of a program, and anybody who can replace that file can act as the app",
            "a program of yours can make one of your apps work for it (LD_PRELOAD, ptrace), and gets what that app gets without a proof of "
                + "yours; whatever needs your finger or passcode still asks for it",
        ]
    }

    /// What it is not worth.
    ///
    /// - Parameter isSystem: Whether its daemons are the system's service.
    /// - Returns: Sentences without a full stop.
    func notPromised(isSystem: Bool) -> [String] {
        var sentences = own(isSystem: isSystem)
        if rootOfTrust == "software" {
            sentences += [
                (isSystem ? "root, or somebody with the disk," : "somebody who copies its directory")
                    + " can guess the passcode on another machine, without a limit",
                "if an older copy of its files is put back, used passcode tries come back; the device notices this until "
                    + (isSystem
                        ? "the machine restarts"
                        : "you log out or the machine restarts, unless the program that did it can also write to your runtime directory"),
            ]
        } else {
            sentences.append(
                rootOfTrust == "tpm2"
                    ? "no PCRs are required, so it opens under any system that boots on this machine"
                    : "somebody with the files of the TPM can copy it, guess the passcode on another machine and put old copies back"
            )
        }
        switch sensor?.kind {
        case .simulated?: sentences.append("a match is what somebody typed, because a simulated finger is only a name")
        case .fprintd?:
            sentences.append("a match is this machine's report that it saw the finger, and root can forge it")
        case .pam?:
            sentences.append(
                "a match is what a PAM service says. It opens what the passcode opens. It counts as biometry only if the device was created with "
                    + "--allow biometry-any, and never as the current set")
        case nil: break
        }
        if sensor?.kind == .fprintd, sensor?.areTemplatesRead == false, sensor?.problem == nil {
            sentences.append(
                "enrolled fingers are known only by their names, because only root can read fprintd's templates. If a finger is enrolled "
                    + "again under the same name while the device is off, items of the current set do not notice")
        }
        return sentences + ["root on this machine uses keys, reads memory and replaces programs"]
    }
}
