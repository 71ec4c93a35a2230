import Foundation
import Glibc
import TouchstoneCore
import TouchstoneSystem

/// All that starting something with the session comes to on this machine, before anything is done.
struct SessionPlan {
    let part: SessionPart
    private let paths: DevicePaths
    private(set) var changes = ChangePlan()
    /// nil: systemd has nothing to do.
    private var unit: String?
    /// Whether it is started already, with the next session, too.
    private var startsAlready = false
    /// Whether the device runs, and does not go on.
    private var endsDevice = false
    /// The device whose prompts the window shows so far; nil: it shows those of no other.
    private(set) var otherDevice: String?
    /// Whether what `disable` did against the package's window is taken back: its unit is masked, its desktop entry is hidden.
    private var (isMasked, isHidden) = (false, false)
    /// What is left to the owner: sentences.
    private(set) var remarks: [String] = []
    /// Whether there is nothing to do, and `disable` knows of it.
    private(set) var isDone = false

    /// Looks at the machine, and changes nothing.
    ///
    /// - Throws: `Failure` if there is no such device or program, or if nothing here could start the device.
    init(_ part: SessionPart, _ paths: DevicePaths) throws {
        self.part = part
        self.paths = paths
        switch part {
        case .device: try planDevice()
        case .window: try planWindow()
        }
        isDone = try changesNothing && ChangeRecord.read().enabled.contains(owner)
    }

    private var changesNothing: Bool { changes.steps.isEmpty && unit == nil && !isMasked && !isHidden }

    private var owner: ChangeOwner { part == .device ? .device(paths.name) : .window }

    private mutating func planDevice() throws {
        _ = try DeviceName.own(paths, "has started with the system")
        try DeviceDirectory.check(paths)
        guard UserManager.isRunning else {
            throw Failure(
                .unavailable,
                "your user systemd does not run here, so it cannot start \(paths.name). After each login, boot it with "
                    + "'touchstone device boot --detach \(paths.name)'")
        }
        let executable = try Program.ownPath()
        if !UserUnit.arePackaged(SessionPart.socketTemplate, for: executable) {
            try changes.write(
                SessionPart.deviceUnits(executable: executable), for: .devices,
                "systemd boots a device when it is first used")
        }
        let socket = PassedSocket.unit(paths)
        guard changes.hasUnits || !UserManager.isEnabled(socket) else { return }
        unit = socket
        endsDevice = SupervisorLock.holder(paths) != nil
    }

    private mutating func planWindow() throws {
        if !paths.isSystem { try DeviceDirectory.check(paths) }
        let executable = try Program.agent.realPath()
        otherDevice = Self.shownDevice.flatMap { $0 == paths.name ? nil : $0 }
        // The one that it chooses itself needs no name.
        let device = paths.name == DevicePaths.selectedName(nil) ? nil : paths.name
        // One of another device's has to give way, also to the package's.
        isHidden = try SessionPart.isAutostartHidden
        let hasAutostart = try !isHidden && ConfigurationFiles.read(SessionPart.autostartPath) != nil
        if device != nil || hasAutostart || !SessionPart.isAutostartPackaged(for: executable) {
            // It takes the hidden one's place.
            isHidden = false
            try changes.change(
                SessionPart.autostartPath, for: .window, "desktops that systemd does not start then start the window"
            ) { _ in Data(SessionPart.autostart(executable: executable, device: device).utf8) }
        }
        guard UserManager.isRunning else {
            remarks.append("The window starts with your next login. Until then, start it yourself: \(executable) &")
            return
        }
        isMasked = UserUnit.isMasked(SessionPart.windowService)
        if !UserUnit.arePackaged(SessionPart.windowService, for: executable) {
            // The package is gone since, and its mask stands where the unit has to be.
            guard !isMasked else {
                throw Failure(
                    .refused,
                    "\(SessionPart.windowService) is masked; run 'systemctl --user unmask \(SessionPart.windowService)' first"
                )
            }
            try changes.write(
                [SessionPart.windowUnit(executable: executable)], for: .window,
                "systemd starts the window with your desktop")
        }
        let choice = UserUnit.choosing(paths.name, for: SessionPart.windowService)
        if try device != nil || choice.isWritten {
            try changes.write([choice], for: .window, "it shows the prompts of \(paths.name)")
        }
        let service = SessionPart.windowService
        let hasDisplay = Self.hasDisplay
        if changes.hasUnits || !UserManager.starts(service) || (hasDisplay && !UserManager.isActive(service)) {
            unit = service
            startsAlready = isMasked && UserManager.startsForEveryUser(service)
        }
        if !hasDisplay { remarks.append("The window appears with your next graphical login.") }
    }

    /// The device whose prompts the window shows so far; nil: none that is there.
    private static var shownDevice: String? {
        let isStarted = UserManager.isRunning && UserManager.starts(SessionPart.windowService)
        guard let name = SessionPart.windowDevice ?? (isStarted ? DevicePaths.selectedName(nil) : nil) else {
            return nil
        }
        let paths = DevicePaths(name: name)
        return paths.isSystem || paths.exists ? name : nil
    }

    /// Whether a program that is started here could show a window.
    static var hasDisplay: Bool {
        let environment = ProcessInfo.processInfo.environment
        return ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0, default: ""] != "" }
    }

    /// What happens, line by line.
    var lines: [String] {
        if changesNothing { return ["changes no file, because everything is in place"] }
        return (isMasked ? ["runs systemctl --user unmask \(SessionPart.windowService)"] : [])
            + (isHidden ? ["removes \(ConfigurationFiles.shown(SessionPart.autostartPath))"] : []) + changes.lines
            + (endsDevice ? ["shuts \(paths.name) down; after its next boot it asks for its passcode"] : [])
            + (unit.map { ["runs systemctl --user \(startsAlready ? "start" : "enable --now") \($0)"] } ?? [])
    }

    /// Does all of it.
    ///
    /// What fails in the middle leaves a record with which `disable` puts back what was done.
    func carryOut() throws {
        if isMasked { try UserManager.control("unmask", SessionPart.windowService) }
        if isHidden {
            var record = try ChangeRecord.read()
            try record.undo([.hiddenWindow], disabling: .hiddenWindow)
        }
        try changes.carryOut(enabling: owner)
        guard let unit else { return }
        // systemd would take the socket of a device that runs away from it. One that it started ends with its socket.
        if endsDevice, !UserManager.isActive(unit) { _ = try ShutdownCommand.shutDown(paths) }
        try UserManager.control("daemon-reload")
        if !startsAlready { try UserManager.control("enable", unit) }
        try UserManager.control("restart", unit)
    }

    /// What is taken away, before it is.
    struct Undoing {
        private let owner: ChangeOwner
        private let owners: [ChangeOwner]
        private var record: ChangeRecord
        /// The units that are stopped, the first is disabled before.
        private let units: [String]
        /// Whether the window also has to be kept from starting as its package has it.
        private let (masks, hides): (Bool, Bool)
        /// Whether it was ever enabled.
        let isEnabled: Bool

        init(_ part: SessionPart, device name: String) throws {
            record = try ChangeRecord.read()
            let names: [String]
            switch part {
            case .device:
                owner = .device(name)
                let isLast = !record.enabled.contains { [owner] in $0.isDevice && $0 != owner }
                owners = isLast ? [owner, .devices] : [owner]
                names = ["touchstone@\(name).socket", "touchstone@\(name).service"]
            case .window:
                owner = .window
                owners = [owner]
                names = [SessionPart.windowService]
            }
            masks =
                part == .window && UserManager.isRunning && !UserUnit.isMasked(SessionPart.windowService)
                && UserManager.startsForEveryUser(SessionPart.windowService)
            hides = try part == .window && SessionPart.isAutostartPackaged && Self.hasNoAutostart(without: record)
            let isStarted = UserManager.isRunning && (UserManager.starts(names[0]) || UserManager.isActive(names[0]))
            units = isStarted ? names : []
            isEnabled = isStarted || masks || hides || record.enabled.contains(owner)
        }

        /// Whether the user has no desktop entry for the window, once what `enable` changed is put back.
        private static func hasNoAutostart(without record: ChangeRecord) throws -> Bool {
            let first = record.entries.first { $0.owner == .window && $0.change.path == SessionPart.autostartPath }
            return try first.map(\.change.isNew) ?? (ConfigurationFiles.read(SessionPart.autostartPath) == nil)
        }

        /// What happens, line by line.
        var lines: [String] {
            (units.first.map { ["runs systemctl --user disable --now \($0)"] } ?? [])
                + (units.count > 1 ? ["shuts the device down"] : []) + record.lines(undoing: owners)
                + (masks ? ["runs systemctl --user mask --now \(SessionPart.windowService)"] : [])
                + (hides
                    ? ["writes \(ConfigurationFiles.shown(SessionPart.autostartPath)), which hides the package's"] : [])
        }

        /// Does all of it.
        mutating func carryOut() throws {
            for (index, unit) in units.enumerated() {
                // A unit that is gone, with its package for example, keeps no file from being put back.
                let words = index == 0 ? ["disable", "--now", unit] : ["stop", unit]
                do { try UserManager.control(words) } catch { StandardError.say("touchstone: \(error)") }
            }
            let undone = Result { try record.undo(owners, disabling: owner) }
            if !units.isEmpty { try UserManager.control("daemon-reload") }
            try undone.get()
            if masks { try UserManager.control("mask", "--now", SessionPart.windowService) }
            if hides {
                var plan = ChangePlan()
                try plan.change(SessionPart.autostartPath, for: .hiddenWindow, "") { _ in
                    Data(SessionPart.hiddenAutostart.utf8)
                }
                try plan.carryOut(enabling: .hiddenWindow)
            }
        }
    }
}
