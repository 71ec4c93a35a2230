import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneSystem

/// What the shells offer where a word is not fixed. They ask this program, which then says nothing of its own.
extension CompletionKind {
    /// The devices of this user.
    static var devices: CompletionKind {
        .custom { _, _, _ in
            DevicePaths.names() + (DevicePaths.systemExists() ? [DevicePaths.systemName] : [])
        }
    }

    /// The fingers or faces that are enrolled on the device that the line names; nothing if it does not answer.
    static var fingers: CompletionKind {
        .custom { words, _, _ in
            guard let paths = try? DeviceName.paths(device(in: words)), let connection = try? DeviceClient(paths),
                let listed = try? connection.call(DeviceInterface.ListFingers.self)
            else { return [] }
            return listed.fingers
        }
    }

    /// The apps that keep something on the device that the line names, or that its log names; nothing if it does not answer.
    static var apps: CompletionKind {
        .custom { words, _, _ in
            guard let paths = try? DeviceName.paths(device(in: words)), let connection = try? DeviceClient(paths) else {
                return []
            }
            var apps = Swift.Set(
                (try? connection.call(BackupInterface.ListUse.self))?.uses.compactMap(\.app?.rawValue) ?? [])
            try? connection.stream(DeviceInterface.ReadLog.self, .init(newest: newestEntries, follow: false)) { reply in
                apps.formUnion(reply.lines.compactMap { LogEntry(line: $0)?.app })
                return true
            }
            return apps.sorted()
        }
    }

    private static let newestEntries = 500

    /// What the line says after --device.
    private static func device(in words: [String]) -> String? {
        words.firstIndex(of: "--device").flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
    }

    /// The pinentries that Debian has.
    static var pinentries: CompletionKind {
        .list(["pinentry-curses", "pinentry-gnome3", "pinentry-gtk-2", "pinentry-qt", "pinentry-tty"])
    }
}
