import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice

/// `touchstone item copy`.
struct CopyItemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Put a secret on the clipboard for 30 seconds, after you were asked.",
        discussion: """
            Then it is cleared, if it still has the secret. Ctrl-C clears it at once. On Wayland this needs wl-copy \
            and wl-paste, of the package wl-clipboard, and on X11 xclip. While the secret is there, each of your \
            programs can read it. A program that keeps what was on the clipboard keeps it, too.
            """)

    @OptionGroup var item: ItemArguments
    @Option(help: ArgumentHelp("How long the clipboard has it, 1 to 300 (default: 30).", valueName: "seconds"))
    var seconds = 30

    func validate() throws {
        guard (1...300).contains(seconds) else { throw ValidationError("--seconds takes a number from 1 to 300") }
    }

    func run() throws {
        let store = try ItemStore(item.option.paths)
        let entry = try store.entry(item.service, item.account)
        // Before anybody is asked: without it there is nothing to do.
        let clipboard = try Clipboard()
        let secret = try store.secret(entry, to: "copy")
        // From here on a signal ends the wait, and not this process.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP])
        do {
            try clipboard.write(secret)
            StandardError.say("the secret of \(entry.name) is on the clipboard for \(seconds) s; Ctrl-C clears it now")
            _ = signals.next(within: .seconds(seconds))
        } catch {
            _ = try? clipboard.clear(ifItIs: secret)
            throw error
        }
        let isCleared = try clipboard.clear(ifItIs: secret)
        StandardError.say(
            isCleared ? "the clipboard is cleared" : "the clipboard has something else by now, and keeps it")
    }
}
