import Foundation

/// One stream of the device that all tabs share: each reply becomes an event of the page.
struct Feed: Sendable {
    /// The event's name.
    let name: String
    let method: String
    /// The text of a JSON object.
    let parameters: String
    /// How many of the newest replies a tab gets that opens later.
    let kept: Int
    /// Whether a reply may mean that the device's state has changed.
    ///
    /// Not of the messages: looking sends some itself.
    var tellsOfChange = true
    /// Whether a reply says what an app is called.
    var namesApps = false

    static let all = [
        // This makes the page the device's agent: it is shown the prompts.
        Feed(
            name: "prompt", method: "io.touchstone.Agent.Subscribe", parameters: #"{"version":1}"#, kept: 1,
            namesApps: true),
        Feed(
            name: "log", method: "io.touchstone.Device.ReadLog", parameters: #"{"newest":100,"follow":true}"#, kept: 200
        ),
        // For the inspector: which class keys are where, and the messages between apps and daemons.
        Feed(name: "keys", method: "io.touchstone.Inspector.Watch", parameters: "{}", kept: 1),
        Feed(
            name: "messages", method: "io.touchstone.Inspector.WatchMessages", parameters: "{}", kept: 200,
            tellsOfChange: false),
    ]
}
