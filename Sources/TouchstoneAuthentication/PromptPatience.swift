import TouchstoneCore

/// How much of an app the owner puts up with: who is cancelled again and again may not ask at once.
///
/// Otherwise a program could ask without end, until the owner gives in or touches the sensor by mistake.
struct PromptPatience {
    enum Limits {
        /// Apps that are counted; the one that is forgotten first gives way.
        static let apps = 1024
    }

    private var apps: [AppIdentifier: Patience] = [:]

    /// What is counted together: an app, or a bridge and one of its clients, so that a client cannot silence the others.
    static func key(of app: AppIdentity, _ client: AppIdentity?) -> AppIdentifier {
        client.map { AppIdentifier("\(app.identifier)\n\($0.identifier)") } ?? app.identifier
    }

    /// Counts a prompt of this app's that the owner cancelled; what the app cancels itself is not for here.
    mutating func cancelled(_ app: AppIdentifier, now: Double) {
        if apps[app] == nil, apps.count >= Limits.apps,
            let oldest = apps.min(by: { $0.value.forgottenAt < $1.value.forgottenAt })
        {
            apps[oldest.key] = nil
        }
        apps[app, default: Patience()].note(now: now)
    }

    /// Whether a prompt of this app's may come up.
    func mayAsk(_ app: AppIdentifier, now: Double) -> Bool { apps[app]?.isExhausted(now: now) != true }
}
