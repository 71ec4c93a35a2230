import Foundation
import TouchstoneCore

/// What is so on this machine whatever the device.
enum MachineCheck {
    static var findings: [Finding] { [swap, otherPrograms] }

    /// Keys are locked in memory, but apps have to protect what they read.
    static var swap: Finding {
        guard let text = try? String(contentsOfFile: "/proc/swaps", encoding: .utf8) else {
            return Finding(.warning, .swap, "unknown: /proc/swaps cannot be read")
        }
        return swap(text) { name in
            (try? String(contentsOfFile: "/sys/class/block/\(name)/dm/uuid", encoding: .utf8))?.hasPrefix("CRYPT-")
                == true
        }
    }

    /// By the text of /proc/swaps; `isEncrypted` is asked for a block device's name.
    static func swap(_ text: String, isEncrypted: (String) -> Bool) -> Finding {
        let areas = text.split(separator: "\n").dropFirst().compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        let plain = areas.filter { area in
            let name = URL(fileURLWithPath: area).lastPathComponent
            // In memory, compressed.
            return !name.hasPrefix("zram") && !(area.hasPrefix("/dev/") && isEncrypted(name))
        }
        if areas.isEmpty { return Finding(.good, .swap, "off") }
        guard !plain.isEmpty else { return Finding(.good, .swap, "on, and none of it reaches a disk unencrypted") }
        return Finding(
            .warning, .swap,
            "on and not encrypted (\(plain.map(PlainText.line).joined(separator: ", "))): keys are locked in memory, but what apps read can "
                + "reach the disk", fix: "sudo swapoff -a")
    }

    /// Who may look into whose memory.
    ///
    /// The daemons are undumpable whatever this says; apps are not.
    static var otherPrograms: Finding {
        otherPrograms(try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8))
    }

    /// By the text of ptrace_scope; nil if the kernel has no Yama.
    static func otherPrograms(_ scope: String?) -> Finding {
        guard let scope = scope.flatMap({ Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }) else {
            return Finding(
                .warning, .otherPrograms,
                "any program of yours can read the memory of your apps, but not of the daemons. This kernel has no Yama, which "
                    + "could forbid it")
        }
        guard scope == 0 else {
            return Finding(.good, .otherPrograms, "they cannot read the memory of your apps (ptrace_scope is \(scope))")
        }
        return Finding(
            .warning, .otherPrograms,
            "any program of yours can read the memory of your apps, but not of the daemons (ptrace_scope is 0)",
            fix: "sudo sysctl kernel.yama.ptrace_scope=1")
    }
}
