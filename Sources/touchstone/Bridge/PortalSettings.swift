import Foundation
import TouchstoneCore

/// Whom the frontend of the desktop's portals asks for the secrets of Flatpak apps (PO-7).
struct PortalSettings {
    private static let interface = "org.freedesktop.impl.portal.Secret"
    private static let busName = "org.freedesktop.secrets"

    /// A file that names a backend.
    private struct Backend {
        /// Its file's name without `.portal`.
        var name: String
        var busName: String
        /// The desktops that it is for, in lower case.
        var desktops: [String]
    }

    private let directory: String
    private let desktops: [String]
    private let backends: [Backend]

    /// Looks at the files that xdg-desktop-portal 1.16 reads.
    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        let directory = environment["XDG_DESKTOP_PORTAL_DIR"] ?? "/usr/share/xdg-desktop-portal/portals"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        self.directory = directory
        desktops = Self.list(environment["XDG_CURRENT_DESKTOP"] ?? "", ":")
        backends = names.sorted().filter { $0.hasSuffix(".portal") }.compactMap { name in
            guard let text = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8) else { return nil }
            var values: [String: String] = [:]
            for line in text.split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
            let interfaces = (values["Interfaces"] ?? "").split(separator: ";").map(String.init)
            // A file without UseIn is ignored.
            guard interfaces.contains(Self.interface), let busName = values["DBusName"], let desktops = values["UseIn"]
            else { return nil }
            return Backend(
                name: String(name.dropLast(".portal".count)), busName: busName,
                desktops: Self.list(desktops, ";"))
        }
    }

    private static func list(_ text: String, _ separator: Character) -> [String] {
        text.lowercased().split(separator: separator).map(String.init)
    }

    /// As xdg-desktop-portal 1.16 chooses: one that is for this desktop, else the first one.
    private var chosen: Backend? {
        for desktop in desktops {
            if let backend = backends.first(where: { $0.desktops.contains(desktop) }) { return backend }
        }
        return backends.first
    }

    /// Whether Touchstone is asked, as soon as it has its name on the bus: gnome-keyring's own file leads there.
    var leadsHere: Bool { chosen?.busName == Self.busName }

    /// What root has to do where it is not asked; nil where it is.
    var remark: String? {
        guard !leadsHere else { return nil }
        let other = chosen.map { "'\(PlainText.line($0.name))' has that place" } ?? "no file says so"
        let lines =
            [
                "[portal]", "DBusName=\(Self.busName)", "Interfaces=\(Self.interface)",
                "UseIn=\(desktops.map { PlainText.line($0) }.joined(separator: ";"))",
            ]
        let words = lines.map { "'\($0.replacingOccurrences(of: "'", with: ""))'" }.joined(separator: " ")
        return
            "Flatpak apps do not ask Touchstone for the key of their passwords, because \(other). They do after this and "
            + "your next login: printf '%s\\n' \(words) | sudo install -D -m 644 /dev/stdin "
            + "\(directory)/touchstone.portal"
            + (chosen == nil
                ? "" : ". With xdg-desktop-portal 1.17 or later, portals.conf also needs \(Self.interface)=touchstone")
    }
}
