import Foundation
import Glibc
import TouchstoneAgent
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces

/// Asks the owner in dialogs of a pinentry program, with a new dialog for each state of a prompt.
final class PinentryAnswers: TerminalAnswers {
    private let program: String
    private let path: String
    private var process: PinentryProcess?
    private var dialog: PinentryDialog?
    /// Whether the dialog that is up was begun again before: a program that dies twice shows nothing.
    private var isSecondTry = false
    /// How the terminal was before the dialog.
    private var terminal: Terminal.Settings?
    private var pause: TypingPause

    let drawsHere = false
    let entered: Int? = nil
    var input: Int32? { process?.descriptor }
    var place: String { "in \(PlainText.line(program))" }

    /// - Parameters:
    ///   - program: Its name, to be found along `PATH`, or an absolute path.
    ///   - now: The time.
    /// - Throws: `Failure` if there is none: says what to install.
    init(_ program: String, now: @escaping () -> ContinuousClock.Instant = { .now }) throws {
        self.program = program
        pause = TypingPause(now: now)
        path = try Self.locate(program)
    }

    private static func locate(_ program: String) throws -> String {
        if program.hasPrefix("/") {
            guard unsafe access(program, X_OK) == 0 else {
                throw Failure(.unavailable, "\(PlainText.line(program)) does not exist, or cannot be executed")
            }
            return program
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        for place in path.split(separator: ":") where place.hasPrefix("/") && !program.contains("/") {
            let candidate = "\(place)/\(program)"
            if unsafe access(candidate, X_OK) == 0 { return candidate }
        }
        let package =
            packages[program].map { "the Debian package \($0)" } ?? "a package such as pinentry-curses or pinentry-gtk2"
        throw Failure(.unavailable, "\(PlainText.line(program)) is not installed: it comes with \(package)")
    }

    /// Packages by the names of their programs.
    private static let packages = [
        "pinentry": "pinentry-curses", "pinentry-curses": "pinentry-curses", "pinentry-tty": "pinentry-tty",
        "pinentry-gtk-2": "pinentry-gtk2", "pinentry-qt": "pinentry-qt", "pinentry-gnome3": "pinentry-gnome3",
        "pinentry-fltk": "pinentry-fltk",
    ]

    func end() { close() }

    func promptChanged(_ prompt: AgentInterface.Prompt, isNew: Bool) -> PromptAnswer? {
        if isNew {
            interrupt()
            pause.begin()
        }
        close()
        isSecondTry = false
        let dialog = PinentryDialog(prompt, secondsLeft: PlainText.seconds(prompt.retryAfterSeconds ?? 0))
        self.dialog = dialog
        return open(dialog)
    }

    /// A dialog that is up has not been answered.
    private func interrupt() {
        if process != nil, dialog?.isEntry == true { pause.interrupted() }
    }

    var wakeAt: ContinuousClock.Instant? { pause.end }

    /// The new dialog takes keys at once, so that no other window gets them.
    ///
    /// Now it begins again, without those keys.
    func timeCame() -> PromptAnswer? {
        guard !pause.isOn(), process != nil, let dialog else { return nil }
        close()
        Terminal.dropInput()
        return open(dialog)
    }

    func promptEnded() {
        interrupt()
        close()
        dialog = nil
    }

    private func open(_ dialog: PinentryDialog) -> PromptAnswer? {
        terminal = Terminal.settings
        do {
            process = try PinentryProcess(path, dialog)
            return nil
        } catch {
            return .unable("\(PlainText.line(program)) cannot be started: \(reason(error))")
        }
    }

    private func reason(_ error: any Error) -> String { (error as? Failure)?.message ?? "\(error)" }

    /// Also puts the terminal back as it was, which a program that was ended may not have.
    private func close() {
        guard let process else { return }
        self.process = nil
        process.end()
        if let terminal { Terminal.restore(terminal) }
    }

    func inputArrived(_ prompt: AgentInterface.Prompt?) -> PromptAnswer? {
        guard let outcome = process?.read() else { return nil }
        guard let dialog else {
            close()
            return nil
        }
        if pause.isOn() {
            close()
            return open(dialog)
        }
        switch outcome {
        case .confirmed:
            close()
            return dialog.confirmed
        case .notConfirmed:
            close()
            return dialog.refused ?? .cancel
        case .canceled:
            close()
            return .cancel
        case .entered(let passcode):
            // An entry cannot be empty, so it is asked for once more.
            guard passcode.count > 0 else {
                close()
                return open(dialog)
            }
            let typed = PasscodeBuffer()
            for byte in passcode { typed.append(byte) }
            close()
            return .passcode(typed)
        case .failed(let reason):
            close()
            guard isSecondTry else {
                isSecondTry = true
                return open(dialog)
            }
            return .unable("\(PlainText.line(program)) \(reason); does it have a display or a terminal?")
        }
    }
}
