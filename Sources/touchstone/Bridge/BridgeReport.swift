import Foundation
import TouchstoneCore
import TouchstoneSystem

/// Whether a bridge is enabled, and whether it works.
struct BridgeReport: Encodable {
    enum State: String, Encodable {
        /// Nothing of the user's asks it.
        case notEnabled
        /// It is enabled, and answers, or listens for a device that waits for its first use.
        case answers
        /// It is enabled, and does not work.
        case broken
    }

    var name: Bridge
    var state: State
    /// A sentence without a full stop.
    var text: String
    /// The command that mends it.
    var fix: String?

    /// - Parameters:
    ///   - bridge: The bridge.
    ///   - device: Whose it is. It is not booted: while it waits for its first use, the bridge's program is not asked either.
    init(_ bridge: Bridge, device: DevicePaths) {
        name = bridge
        let resident = bridge.resident
        let record = (try? ChangeRecord.read()) ?? ChangeRecord()
        let (isNamed, others) = Self.place(bridge, device)
        guard record.enabled.contains(.bridge(bridge)) || isNamed else {
            state = .notEnabled
            text = "not enabled; 'touchstone bridge enable \(bridge.rawValue)' gives you \(bridge.purpose)"
            return
        }
        let again =
            "touchstone bridge enable \(bridge.rawValue) --yes"
            + (device.name == DevicePaths.selected().name ? "" : " --device \(device.name)")
        state = .broken
        let (socket, mayAsk) = (resident.socket(for: device), device.isSystem || !PassedSocket.isWaiting(device))
        if (try? resident.executable()) == nil {
            text =
                "enabled, but \(resident.rawValue) is not installed; the package touchstone-bridges has it, and 'make bridges' builds it"
        } else if !isNamed, resident.isRootsAlone {
            text = "enabled, but \(resident.rawValue) does not run"
            fix = resident.rootCommand("enable")
        } else if !isNamed, bridge != .credentials {
            text = "enabled, but \(bridge.asker) does not ask it any more"
            fix = again + (others ? " --replace" : "")
        } else if resident.isOnBus {
            guard BridgeProbe.answers(resident, for: device) else {
                text = "enabled, but \(resident.rawValue) does not run"
                fix = again
                return
            }
            state = .answers
            text = "enabled, and answers on the session's bus; your other programs can act as it"
        } else if mayAsk ? !BridgeProbe.answers(resident, for: device) : !UnixSockets.isListening(at: socket) {
            text = "enabled, but nobody answers at \(PlainText.line(socket))"
            fix =
                resident.isSystemService(for: device)
                ? resident.rootCommand("enable") : UserManager.isRunning ? again : resident.foreground
        } else {
            state = .answers
            text =
                "enabled, and \(mayAsk ? "answers" : "listens") at \(PlainText.line(socket)); your other programs "
                + (resident.isSystemService(for: device) ? "cannot act as it" : "can act as it")
            if mayAsk, bridge == .credentials, let count = BridgeProbe.grantedPrograms(for: device), count > 0 {
                let programs = count == 1 ? "1 program reads" : "\(count) programs read"
                text += "; \(programs) passwords without asking you, which 'touchstone bridge grants list' shows"
            }
        }
    }

    /// Whether the programs that are to ask it do so, and whether they ask somebody else.
    private static func place(_ bridge: Bridge, _ device: DevicePaths) -> (isNamed: Bool, others: Bool) {
        switch bridge {
        case .ssh:
            let settings = try? ConfigurationFiles.read(SSHSettings.path)
            let socket = bridge.resident.socket(for: device)
            let isNamed = settings.map { SSHSettings.naming(socket, in: $0) == $0 } ?? false
            return (isNamed || ProcessInfo.processInfo.environment["SSH_AUTH_SOCK"] == socket, false)
        case .credentials:
            // What it is asked by are programs, which know its place.
            return (FileManager.default.fileExists(atPath: bridge.resident.socket(for: device)), false)
        case .git:
            // git itself is asked only if there may be something to find.
            guard let settings = try? ConfigurationFiles.read(GitSettings.path),
                settings.range(of: Data("helper".utf8)) != nil, let found = try? GitSettings.helpers(in: settings)
            else { return (false, false) }
            return (
                found.contains(where: GitSettings.isOurs), !found.allSatisfy { $0.isEmpty || GitSettings.isOurs($0) }
            )
        case .docker:
            let found = (try? ConfigurationFiles.read(DockerSettings.path)).flatMap { DockerSettings.store(in: $0) }
            return (found == DockerSettings.name, found != nil)
        case .fido:
            return (bridge.resident.isSystemService, false)
        case .secretService:
            return ((try? ConfigurationFiles.read(BusSettings.path)) == BusSettings.activation, false)
        case .pkcs11:
            let module = PKCS11Settings.module(bridge.resident.socket(for: device))
            return ((try? ConfigurationFiles.read(PKCS11Settings.path)) == module, false)
        }
    }

    /// For the doctor.
    var finding: Finding { Finding(state == .broken ? .bad : .good, name.topic, text, fix: fix) }
}
