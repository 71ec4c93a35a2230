internal import Foundation
internal import Synchronization
internal import TouchstoneCore
internal import TouchstoneInterfaces
internal import TouchstoneSystem
internal import TouchstoneTransport

/// Where prompts appear: a window.
///
/// > Concurrency: Called from the thread that is in ``PromptAgent/run()``, one call at a time. It returns at once.
public protocol PromptPresenter: Sendable {
    /// A prompt came up, or reached another state; what was typed before is for nothing any more.
    func show(_ card: PromptCard)
    /// The device knows that the owner can see what was shown last. Until then it may not be answered: a call about it is still on its way.
    func confirmed()
    /// Nothing is up any more: to be gone within 50 ms (DA-7).
    func remove()
    /// Something that the program's journal should have.
    func note(_ words: String)
}

/// An agent whose prompts appear in a window.
///
/// It subscribes, waits without end for a device that is off, and carries back what the owner decides. What is typed it seals for the
/// enclave. The window tells of each prompt when its owner can see it: ``PromptAnswer/shown``.
///
/// > Concurrency: One thread is in ``run()``; any thread answers.
public final class PromptAgent: Sendable {
    /// The version of Touchstone.
    public static var version: String { TouchstoneVersion.current }

    /// The device's name.
    public let device: String
    private let paths: DevicePaths
    private let presenter: any PromptPresenter
    private let inbox = Mutex<Inbox?>(nil)

    /// - Parameters:
    ///   - device: The device's name; nil: the one that `TOUCHSTONE_DEVICE` names, else the system's where there is one, else `default`.
    ///   - presenter: The window.
    /// - Throws: `AgentFailure` if the name cannot be a device's.
    public init(device: String? = nil, presenter: any PromptPresenter) throws(AgentFailure) {
        let paths = device.map { DevicePaths(name: $0) } ?? DevicePaths.selected()
        guard DevicePaths.isValid(name: paths.name) else {
            throw AgentFailure("\u{201C}\(PlainText.line(paths.name))\u{201D} cannot be a device's name")
        }
        self.paths = paths
        self.device = paths.name
        self.presenter = presenter
    }

    /// Shows prompts until the device takes no agent any more.
    ///
    /// - Throws: `AgentFailure`: the device refuses this program, or speaks another version.
    public func run() throws(AgentFailure) {
        do {
            let answers = try PresentedAnswers(presenter)
            inbox.withLock { $0 = answers.inbox }
            try AgentSession(
                paths: paths, answers: answers, screen: PresentedScreen(paths, presenter), reconnects: true
            ).run()
        } catch {
            throw AgentFailure(error, paths)
        }
    }

    /// Answers the prompt in a state of it; nothing happens where it is in another by now.
    ///
    /// - Parameters:
    ///   - answer: What the owner decided. The caller touches no passcode any more that is in it.
    ///   - card: What the owner saw.
    public func answer(_ answer: sending PromptAnswer, to card: PromptCard) {
        inbox.withLock { $0 }?.post(Inbox.Entry(answer: answer, identifier: card.identifier, state: card.state))
    }
}

/// Why an agent ended.
public struct AgentFailure: Error, Hashable, Sendable {
    /// A sentence without a full stop.
    public let message: String

    init(_ message: String) { self.message = message }

    init(_ error: any Error, _ paths: DevicePaths) {
        switch error {
        case let error as RemoteError:
            if let refused = error.as(DeviceInterface.Refused.self) {
                message =
                    refused.reason == .notListed
                    ? "root has not listed this program in \(OwnerPrograms.system[0])"
                    : "\(paths.name) belongs to somebody else"
            } else if let unsupported = error.as(AgentInterface.UnsupportedVersion.self) {
                message =
                    "\(paths.name) speaks version \(unsupported.supported) of io.touchstone.Agent, this program version "
                    + "\(AgentInterface.version)"
            } else {
                message = "\(paths.name) answered \(PlainText.line(error.name))"
            }
        case PasscodeKeyError.writableByOthers:
            message = "\(paths.passcodeKey.path) can be changed by other users"
        case PasscodeKeyError.malformed: message = "\(paths.passcodeKey.path) is not a public key"
        case TransportError.malformed, TransportError.tooLarge:
            message = "\(paths.name) sent something that is not an answer"
        default: message = "\(paths.name): \(PlainText.line(String(describing: error)))"
        }
    }
}

/// Answers from other threads.
private final class Inbox: Sendable {
    /// `@unchecked`: a passcode is for one thread at a time, and the one that posts it gives it away.
    struct Entry: @unchecked Sendable {
        var answer: PromptAnswer
        var identifier: String
        var state: Int
    }

    /// Readable while there are answers.
    var descriptor: Int32 { doorbell.descriptor }
    private let doorbell: Doorbell
    private let entries = Mutex<[Entry]>([])

    init() throws { doorbell = try Doorbell() }

    func post(_ entry: Entry) {
        entries.withLock { $0.append(entry) }
        doorbell.ring()
    }

    /// The oldest; the descriptor stays readable while there are others.
    func next() -> Entry? {
        doorbell.answer()
        let (entry, isLast) = entries.withLock { entries in
            (entries.isEmpty ? nil : entries.removeFirst(), entries.isEmpty)
        }
        if !isLast { doorbell.ring() }
        return entry
    }
}

/// The owner at a window.
private final class PresentedAnswers: PromptAnswers {
    let inbox: Inbox
    private let presenter: any PromptPresenter
    private var state = 0
    private var current: AgentInterface.Prompt?
    private var retryAt: ContinuousClock.Instant?
    private var shownSeconds = 0

    init(_ presenter: any PromptPresenter) throws {
        self.presenter = presenter
        inbox = try Inbox()
    }

    var input: Int32? { inbox.descriptor }
    var showsAtOnce: Bool { false }

    func promptChanged(_ prompt: AgentInterface.Prompt, isNew: Bool) -> PromptAnswer? {
        current = prompt
        let seconds = PlainText.seconds(prompt.retryAfterSeconds ?? 0)
        retryAt = seconds > 0 ? .now + .seconds(seconds) : nil
        show(secondsLeft: seconds)
        return nil
    }

    private func show(secondsLeft: Int) {
        guard let current else { return }
        state += 1
        shownSeconds = secondsLeft
        presenter.show(PromptCard(current, state: state, secondsLeft: secondsLeft))
    }

    func confirmed() { presenter.confirmed() }

    func promptEnded() {
        current = nil
        retryAt = nil
        presenter.remove()
    }

    /// The second that is shown changes; that the last is over the session says.
    var wakeAt: ContinuousClock.Instant? { retryAt.map { $0 - .seconds(max(0, shownSeconds - 1)) } }

    func timeCame() -> PromptAnswer? {
        guard let retryAt else { return nil }
        let left = Int(((retryAt - .now) / .seconds(1)).rounded(.up))
        if left > 0, left < shownSeconds { show(secondsLeft: left) }
        return nil
    }

    func inputArrived(_ prompt: AgentInterface.Prompt?) -> PromptAnswer? {
        guard let entry = inbox.next() else { return nil }
        // What was pressed for another prompt, or for another state of this one, is not meant for what is up now.
        guard entry.identifier == current?.identifier else { return nil }
        if case .shown = entry.answer { return .shown }
        if case .cancel = entry.answer { return .cancel }
        return entry.state == state ? entry.answer : nil
    }
}

/// What a session says of itself, for the journal.
private final class PresentedScreen: AgentScreen {
    private let paths: DevicePaths
    private let presenter: any PromptPresenter

    init(_ paths: DevicePaths, _ presenter: any PromptPresenter) {
        self.paths = paths
        self.presenter = presenter
    }

    func ready() { presenter.note("ready: prompts of \(paths.name) appear in a window") }

    func waits(_ reason: AgentWait) {
        switch reason {
        case .notBooted: presenter.note("\(paths.advice); waiting for it")
        case .wentAway: presenter.note("\(paths.name) went away; waiting for it")
        }
    }

    func draw(_ prompt: AgentInterface.Prompt, secondsLeft: Int) {}
    func replace(with line: String) {}
    func say(_ trouble: String) { presenter.note(trouble) }
}
