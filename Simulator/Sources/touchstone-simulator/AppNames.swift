import Foundation

/// What the device's prompts call its apps: only prompts name them, and a reloaded page has seen no prompt.
struct AppNames {
    struct App: Codable, Equatable {
        var identifier: String
        var name: String
    }

    private struct Reply: Decodable {
        struct Prompt: Decodable { var app: App }
        var prompt: Prompt?
    }

    private var apps: [App] = []

    /// Remembers the app of one reply of the agent's stream.
    ///
    /// - Returns: All apps, as JSON; nil if nothing changed.
    mutating func take(_ reply: Data) -> Data? {
        guard let app = (try? JSONDecoder().decode(Reply.self, from: reply))?.prompt?.app else { return nil }
        // By its bytes: another spelling of the same characters is another app.
        let place = apps.firstIndex { $0.identifier.utf8.elementsEqual(app.identifier.utf8) }
        if let place {
            guard apps[place].name != app.name else { return nil }
            apps[place] = app
        } else {
            apps = apps.suffix(Self.maximum - 1) + [app]
        }
        return try? JSONEncoder().encode(apps)
    }

    /// Apps; the oldest go first.
    static let maximum = 200
}
