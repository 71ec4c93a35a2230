import TouchstoneCore
import TouchstoneSystem

/// Whether a device and the window of its prompts start by themselves, for the doctor.
enum SessionReport {
    /// - Parameter paths: The device; one that is not there has nothing to start.
    /// - Returns: A finding for each, the window's last.
    static func findings(_ paths: DevicePaths) -> [Finding] {
        (paths.isSystem || !paths.exists ? [] : [start(paths)]) + [window(paths)]
    }

    private static func command(_ part: SessionPart, _ paths: DevicePaths) -> String {
        "touchstone session enable \(part.rawValue) --yes"
            + (paths.name == DevicePaths.selected().name ? "" : " --device \(paths.name)")
    }

    private static func start(_ paths: DevicePaths) -> Finding {
        guard UserManager.isRunning else {
            return Finding(
                .warning, .start,
                "your user systemd does not run here, so after each login \(paths.name) is off until 'touchstone device boot --detach'"
            )
        }
        let unit = PassedSocket.unit(paths)
        guard UserManager.starts(unit) else {
            return Finding(
                .warning, .start, "after your next login \(paths.name) is off until somebody boots it",
                fix: command(.device, paths))
        }
        guard UserManager.isActive(unit) else {
            return Finding(
                .warning, .start, "\(paths.name) starts after your next login, but not in this session",
                fix: command(.device, paths))
        }
        return Finding(
            .good, .start, "your systemd boots \(paths.name) when it is first used, and ends it with your session")
    }

    private static func window(_ paths: DevicePaths) -> Finding {
        guard let executable = try? Program.agent.realPath() else {
            return Finding(
                .warning, .window,
                "touchstone-agent is not installed, so prompts appear only where 'touchstone agent' runs; the package "
                    + "touchstone-desktop has it, and 'make desktop' builds it")
        }
        let isEnabled =
            UserManager.isRunning
            ? UserManager.starts(SessionPart.windowService)
            : (try? SessionPart.isAutostartHidden) != true
                && (SessionPart.isAutostartPackaged(for: executable)
                    || (try? ConfigurationFiles.read(SessionPart.autostartPath)) != nil)
        guard isEnabled else {
            return Finding(
                .warning, .window, "nothing starts the window of prompts with your session",
                fix: command(.window, paths))
        }
        guard UserManager.isRunning, SessionPlan.hasDisplay else {
            return Finding(.good, .window, "touchstone-agent starts with your desktop")
        }
        guard UserManager.isActive(SessionPart.windowService) else {
            return Finding(
                .bad, .window, "touchstone-agent starts with your desktop, but does not run now",
                fix: command(.window, paths))
        }
        return Finding(.good, .window, "touchstone-agent runs, and starts with your desktop")
    }
}
