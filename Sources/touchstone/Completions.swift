import ArgumentParser
import TouchstoneInterfaces
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
            let named = words.firstIndex(of: "--device").flatMap {
                words.indices.contains($0 + 1) ? words[$0 + 1] : nil
            }
            guard let paths = try? DeviceName.paths(named), let connection = try? DeviceClient(paths),
                let listed = try? connection.call(DeviceInterface.ListFingers.self)
            else { return [] }
            return listed.fingers
        }
    }

    /// The pinentries that Debian has.
    static var pinentries: CompletionKind {
        .list(["pinentry-curses", "pinentry-gnome3", "pinentry-gtk-2", "pinentry-qt", "pinentry-tty"])
    }
}
