import Foundation

/// docker's settings of this user: who keeps passwords.
///
/// Changed as text, so that every other byte stays, and then compared as JSON.
enum DockerSettings {
    static let name = "touchstone"
    private static let key = "credsStore"

    static var path: String {
        (ConfigurationFiles.absolute("DOCKER_CONFIG") ?? "\(ConfigurationFiles.home)/.docker") + "/config.json"
    }

    /// The store that the settings name; nil if they name none.
    static func store(in settings: Data) -> String? { object(settings)?[key] as? String }

    private static func object(_ settings: Data) -> [String: Any]? {
        if settings.isEmpty { return [:] }
        return try? JSONSerialization.jsonObject(with: settings) as? [String: Any]
    }

    /// The same settings with this store, or without one.
    ///
    /// - Returns: nil if they are no JSON object, or if the text cannot be changed without a change of something else.
    static func setting(_ store: String?, in settings: Data) throws -> Data? {
        guard var wanted = object(settings), store.map(isName) ?? true else { return nil }
        let text = String(decoding: settings, as: UTF8.self)
        // A second member of that name would be anybody's guess.
        guard wanted[key] == nil || text.range(of: member, options: .regularExpression) != nil else { return nil }
        wanted[key] = store
        let changed = edited(text, store).map { Data($0.utf8) }
        guard let changed, let found = object(changed),
            NSDictionary(dictionary: found).isEqual(to: wanted)
        else { return nil }
        return changed
    }

    private static func isName(_ store: String) -> Bool {
        !store.isEmpty && store.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && ![0x22, 0x5C].contains($0) }
    }

    private static let member = "\"\(key)\"\\s*:\\s*\"[^\"\\\\]*\""

    private static func edited(_ settings: String, _ store: String?) -> String? {
        let line = store.map { "\"\(key)\": \"\($0)\"" }
        if let line, settings.range(of: member, options: .regularExpression) != nil {
            return settings.replacingOccurrences(of: member, with: line, options: .regularExpression)
        }
        guard let line else {
            // With the comma behind it, else with the one before it.
            for pattern in ["\\s*\(member)\\s*,", ",\\s*\(member)", "\\s*\(member)"] {
                guard let found = settings.range(of: pattern, options: .regularExpression) else { continue }
                return settings.replacingCharacters(in: found, with: "")
            }
            return settings
        }
        guard let start = settings.firstIndex(of: "{") else { return "{\n\t\(line)\n}\n" }
        let rest = settings[settings.index(after: start)...]
        let isEmpty = rest.drop(while: \.isWhitespace).first == "}"
        return settings[...start] + "\n\t\(line)" + (isEmpty ? "\n}\n" : ",\(rest)")
    }
}
