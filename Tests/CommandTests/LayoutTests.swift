import Testing
import TouchstoneCore

@testable import touchstone

/// How what the command says stands at a terminal, and elsewhere.
@Suite struct LayoutTests {
    private let finding = Finding(
        .warning, .swap, "the kernel may write the memory of apps to a disk that is not encrypted",
        fix: "sudo swapoff -a")

    @Test("at a terminal a finding is broken at words, and its command stays whole")
    func atATerminal() {
        let lines = finding.lines(columns: 40, hasColour: false)
        #expect(
            lines == [
                "[!!] swap: the kernel may write the", "     memory of apps to a disk that is", "     not encrypted",
                "     repair it: sudo swapoff -a",
            ])
    }

    @Test("elsewhere it is one line, without a colour")
    func elsewhere() {
        #expect(finding.lines(columns: nil, hasColour: false).count == 2)
    }

    @Test(
        "its mark has the colour of its state",
        arguments: [
            (Finding.State.good, "\u{1B}[32m[ok]\u{1B}[0m "), (.warning, "\u{1B}[33m[!!]"), (.bad, "\u{1B}[31m[no]"),
        ])
    func colours(state: Finding.State, mark: String) {
        #expect(Finding(state, .log, "as it should be").lines(columns: 80, hasColour: true)[0].hasPrefix(mark))
    }

    @Test("the last column of a table is broken below itself")
    func table() {
        let rows = [["Agent", "none, so prompts fail at once"], ["Passcode", "set"]]
        #expect(
            Table.lines(rows, columns: 30)
                == ["Agent     none, so prompts", "          fail at once", "Passcode  set"])
        #expect(Table.lines(rows, columns: nil) == ["Agent     none, so prompts fail at once", "Passcode  set"])
    }

    @Test("a narrow terminal still gets lines")
    func narrow() {
        #expect(Paragraph.lines("one two three", indent: "   ", columns: 1).allSatisfy { PlainText.columns($0) <= 23 })
    }

    @Test("help begins with its usage, and ends with the environment and the exit statuses")
    func help() {
        let text = HelpText.ordered(Touchstone.helpMessage(columns: 80))
        #expect(text.hasPrefix("USAGE: touchstone "))
        let places = ["touchstone setup", "SUBCOMMANDS:", "ENVIRONMENT\n", "EXIT STATUS\n"].map {
            text.range(of: $0)?.lowerBound
        }
        #expect(!places.contains(nil))
        #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
    }

    @Test(
        "what is not help stays as it is",
        arguments: ["0.1.0", "", "Error: there is no such command\nUSAGE: touchstone"])
    func notHelp(text: String) {
        #expect(HelpText.ordered(text) == text)
    }

    @Test("a long path in the log loses its middle, and a short one nothing")
    func paths() {
        #expect(AppNames.short("/usr/bin/git", longest: 32) == "/usr/bin/git")
        let short = AppNames.short("/home/ada/work/Bridges/.build/debug/touchstone-ssh-agent", longest: 32)
        #expect(short.hasPrefix("/home/ada…") && short.hasSuffix("/touchstone-ssh-agent") && short.count == 32)
    }
}
