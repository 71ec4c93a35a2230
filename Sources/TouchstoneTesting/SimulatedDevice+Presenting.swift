import Synchronization
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneTransport

extension SimulatedDevice {
    /// Something that a person does in front of the device.
    public enum Action: Sendable {
        /// Lays an enrolled finger on the sensor, or shows an enrolled face: whichever there is.
        case match
        /// Lays this enrolled finger on the sensor, or shows this enrolled face.
        case finger(Finger)
        /// Lays a finger on the sensor that is not enrolled; before Face ID, shows another face, or none.
        case nonMatch
        /// Types a passcode where one is asked for.
        case passcode(String)
        /// Has Face ID look once more, after it has failed once.
        case tryAgain
        /// Allows the app the use of Face ID, where that is asked.
        case allowFaceID
        /// Denies the app the use of Face ID, where that is asked.
        case denyFaceID
        /// Types a password of the app's where one is asked for (EV-61).
        case applicationPassword(String)
        /// Taps Cancel.
        case cancel
        /// Taps the fallback button.
        case fallback
        /// Leaves the app, which takes its prompt down.
        case leaveApp

        /// Lays an enrolled finger on the sensor, or shows an enrolled face.
        ///
        /// - Parameter number: Its number; they count from 1.
        /// - Returns: The action.
        public static func finger(_ number: Int) -> Action { .finger(Finger(number: number)) }
    }

    /// What happens to a prompt if nobody does anything about it.
    public enum Unanswered: Sendable, Hashable {
        /// The test fails, with the prompt's words and the line to add, and the prompt is cancelled.
        ///
        /// Only time in which the machine can run the test counts, and never the device's clock.
        case fails(after: Duration)
        /// It waits, as on a device: for tests in which somebody answers later.
        case waits
    }

    /// What an app wants to do with a private key of the device.
    public enum KeyOperation: Sendable {
        /// Making a signature.
        case sign
        /// Decrypting.
        case decrypt
        /// Agreeing on a secret with the holder of another key.
        case exchangeKeys
    }

    /// A prompt as the person saw it last.
    public struct Prompt: Sendable, Hashable {
        /// The name of the app that asks.
        public let app: String
        /// What the app says it is for; empty where Face ID does not show it (EV-11).
        public let reason: String
        /// What is to be done with a key; nil where it is not about a key.
        public let keyOperation: KeyOperation?
        /// What the app calls the key; nil where it has no name for it.
        public let keyLabel: String?
        /// What the apps that stored them call the items that are about to be read: labels, or services with accounts, at most five.
        public let itemNames: [String]
        /// The title of the cancel button.
        public let cancelTitle: String
        /// The title of the fallback button; nil where there is none.
        public let fallbackTitle: String?
        /// Whether the passcode is asked for.
        public let asksForPasscode: Bool
        /// Whether it asks if the app may use Face ID.
        public let asksForPermission: Bool
        /// Whether Face ID has failed once and offers to look again.
        public let offersToTryAgain: Bool
        /// Whether a password of the app's own is asked for.
        public let asksForApplicationPassword: Bool
        /// Whether the passcode or password entered last was wrong.
        public let isWrong: Bool
        /// Touches in this prompt that did not match.
        public let failures: Int
    }

    /// Has the person do something, now or as soon as a prompt is up.
    ///
    /// Actions are taken in order, each by the prompt that is up when its turn comes; one that a prompt has no use for,
    /// as a finger where the passcode is asked for, does nothing. A finger that is not enrolled fails the test at once, and
    /// Cancel is tapped in its place.
    ///
    /// - Parameters:
    ///   - actions: What to do.
    ///   - fileID: Where a failure points at.
    ///   - filePath: Where a failure points at.
    ///   - line: Where a failure points at.
    ///   - column: Where a failure points at.
    public func present(
        _ actions: Action..., fileID: String = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
        person.noteTest(at: place)
        person.present(checked(actions, at: place))
    }

    /// The person answers with these actions whenever nothing else is planned.
    ///
    /// With several actions, as in `always(.match, .passcode("1234"))`, a prompt takes the first that it can use.
    /// It does not repeat an action that did not help, so a wrong passcode is typed once.
    ///
    /// - Parameters:
    ///   - actions: What to do. Call it without actions to stop the answers.
    ///   - fileID: The place that a failure points at.
    ///   - filePath: The place that a failure points at.
    ///   - line: The place that a failure points at.
    ///   - column: The place that a failure points at.
    public func always(
        _ actions: Action..., fileID: String = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        let place = SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column)
        person.noteTest(at: place)
        // Fails now where nobody is enrolled, and helps once somebody is.
        _ = checked(actions, at: place)
        person.always(actions)
    }

    /// What happens to a prompt if nobody does anything about it.
    ///
    /// By default the test fails after two seconds.
    public var unanswered: Unanswered {
        get { person.unanswered }
        set { person.unanswered = newValue }
    }

    /// Fails the test for fingers that are not enrolled, and cancels in their place.
    private func checked(_ actions: [Action], at place: SourcePlace) -> [Action] {
        let wantsFinger = actions.contains { action in
            switch action {
            case .match, .finger: true
            default: false
            }
        }
        // A connection of its own: the owner's may be busy.
        guard wantsFinger,
            let enrolled = try? booted.withLock({ $0 }).client().call(DeviceInterface.ListFingers.self, Empty()).fingers
        else { return actions }
        return actions.map { action in
            let words: String
            switch action {
            case .match where enrolled.isEmpty: words = Finger.noneEnrolled(on: biometryType)
            case .finger(let finger) where !enrolled.contains(finger.name(on: biometryType)):
                words = notEnrolled(finger, enrolled)
            default: return action
            }
            person.fail(words, at: place)
            return .cancel
        }
    }

    /// Every prompt that has been shown so far, oldest first.
    public var prompts: [Prompt] { person.prompts }

    /// Whether somebody is there to see a prompt.
    ///
    /// Where nobody is, what needs one fails at once.
    ///
    /// - Parameter isAttended: Whether somebody is.
    public func setAttended(_ isAttended: Bool) {
        if isAttended { person.attend(booted.withLock { $0 }) } else { person.leave() }
    }
}

extension SimulatedDevice.Prompt {
    init(_ prompt: AgentInterface.Prompt) {
        app = prompt.app.name
        reason = prompt.reason
        keyOperation =
            switch prompt.operation {
            case .useKeySign: .sign
            case .useKeyDecrypt: .decrypt
            case .useKeyKeyExchange: .exchangeKeys
            case .createItem, .useItem, .createKey, nil: nil
            }
        keyLabel = prompt.keyLabel
        itemNames = prompt.items?.names ?? []
        cancelTitle = prompt.cancelTitle
        fallbackTitle = prompt.fallbackTitle
        asksForPasscode = prompt.phase == .passcode
        asksForPermission = prompt.phase == .permission
        offersToTryAgain = prompt.phase == .retry
        asksForApplicationPassword = prompt.phase == .applicationPassword
        isWrong = prompt.wrongPasscode
        failures = prompt.failures
    }
}
