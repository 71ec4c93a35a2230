/// One thing that a doctor's report says: its state, in plain words, and the one command that repairs it.
struct Finding: Encodable, Hashable {
    /// What it is about; scripts know these names, which stay as they are.
    enum Topic: String, Encodable, CaseIterable {
        case device
        case files
        case daemons
        case rootOfTrust = "root of trust"
        case passcode, biometry, sensor, agent, log, keychain
        case ownerPrograms = "owner's programs"
        case coreDumps = "core dumps"
        case swap
        case lockedMemory = "locked memory"
        case otherPrograms = "other programs"
        case start, window
        case sshBridge = "ssh bridge"
        case credentialsBridge = "credentials bridge"
        case gitBridge = "git bridge"
        case dockerBridge = "docker bridge"
        case secretServiceBridge = "secret-service bridge"
        case pkcs11Bridge = "pkcs11 bridge"
        case fidoBridge = "fido bridge"
        case pam = "sudo and login"
        case sync = "synchronizing"
    }

    enum State: String, Encodable {
        /// As it should be.
        case good
        /// It works, and could be safer or do more.
        case warning
        /// It does not work.
        case bad

        fileprivate var mark: String {
            switch self {
            case .good: "ok"
            case .warning: "!!"
            case .bad: "no"
            }
        }

        /// Green, yellow and red, as a terminal numbers them.
        fileprivate var colour: Int {
            switch self {
            case .good: 32
            case .warning: 33
            case .bad: 31
            }
        }
    }

    var topic: Topic
    var state: State
    /// A sentence without a full stop.
    var text: String
    /// A command; absent if all is well, or where no command helps and the text says what does.
    var fix: String?

    init(_ state: State, _ topic: Topic, _ text: String, fix: String? = nil) {
        self.state = state
        self.topic = topic
        self.text = text
        self.fix = fix
    }

    /// - Parameters:
    ///   - columns: Of the terminal; nil: not a terminal, so that each is one line.
    ///   - hasColour: Whether the mark has the colour of its state.
    /// - Returns: The sentence, and below it the command, which is never broken: it is to be copied.
    func lines(columns: Int? = Paragraph.width, hasColour: Bool = Terminal.hasColour) -> [String] {
        let mark = "[\(state.mark)]"
        var lines = Paragraph.lines("\(topic.rawValue): \(text)", indent: mark + " ", columns: columns)
        if hasColour { lines[0] = "\u{1B}[\(state.colour)m\(mark)\u{1B}[0m\(lines[0].dropFirst(mark.count))" }
        return lines + (fix.map { ["     repair it: \($0)"] } ?? [])
    }
}
