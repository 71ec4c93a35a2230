import Glibc
import TouchstoneCore

/// Draws alerts on standard output: over one another at a terminal, one below the other elsewhere.
struct PromptScreen {
    private var drawn = 0
    private var last: [PromptAlert.Line] = []
    private let canRedraw = Terminal.canRedraw
    private let hasColour = Terminal.hasColour

    mutating func draw(_ alert: PromptAlert) {
        let lines = alert.lines(columns: Terminal.columns, rows: canRedraw ? Terminal.rows : .max)
        guard lines != last else { return }
        last = lines
        StandardOutput.write(erasure + lines.map(styled).joined(separator: "\n") + "\n")
        drawn = lines.count
    }

    /// Takes the alert down and leaves one line in its place.
    mutating func replace(with line: String) {
        StandardOutput.write(erasure + line + "\n")
        drawn = 0
        last = []
    }

    private var erasure: String { canRedraw && drawn > 0 ? "\u{1B}[\(drawn)A\r\u{1B}[J" : "" }

    private func styled(_ line: PromptAlert.Line) -> String {
        guard hasColour else { return line.text }
        return switch line.style {
        case .plain: line.text
        case .title: "\u{1B}[1m\(line.text)\u{1B}[0m"
        case .claim: "\u{1B}[3m\(line.text)\u{1B}[0m"
        case .warning: "\u{1B}[31m\(line.text)\u{1B}[0m"
        }
    }
}
