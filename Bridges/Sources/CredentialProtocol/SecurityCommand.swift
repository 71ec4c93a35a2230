/// One command of macOS's `security`, as scripts write it (SC-1).
public struct SecurityCommand: Equatable, Sendable {
    /// What is done.
    public enum Action: String, Sendable { case add, find, delete }

    /// Where the new password comes from.
    public enum Password: Equatable, Sendable {
        /// It stands among the arguments, where other programs can read it.
        case argument([UInt8])
        /// It is typed, or comes from standard input.
        case asked
    }

    /// Most bytes of a value.
    public static let maximumCount = 4096

    /// What is done.
    public let action: Action
    /// Whether it is about an internet password; else about a generic one.
    public let isInternet: Bool
    /// `-s`, or `-l` where a password is looked for: both are the same here.
    public private(set) var place = ""
    /// `-a`.
    public private(set) var account: String?
    /// `-r`: as git writes it.
    public private(set) var scheme = "https"
    /// `-P`.
    public private(set) var port: UInt16?
    /// `-p` of an internet password.
    public private(set) var path: String?
    /// `-w` of a new one.
    public private(set) var password: Password = .asked
    /// `-U`: one that is there is replaced.
    public private(set) var updates = false
    /// `-A`: any program may read it, and nobody is asked.
    public private(set) var isOpen = false
    /// `-T`: files of programs that may read it without a question; absolute paths.
    public private(set) var programs: [String] = []
    /// `-w`: only the password is printed.
    public private(set) var printsPassword = false
    /// `-g`: the password is printed, too.
    public private(set) var showsPassword = false
    /// Options that are understood and change nothing, each once.
    public private(set) var ignored: [String] = []

    /// What the keychain's codes for protocols are called by git.
    private static let schemes = [
        "http": "http", "htps": "https", "smtp": "smtp", "imap": "imap", "imps": "imaps", "ftp ": "ftp", "ftps": "ftps",
    ]

    /// Reads a command.
    ///
    /// - Parameter arguments: From the command on.
    /// - Throws: `SecurityCommandError`.
    public init(_ arguments: [[UInt8]]) throws(SecurityCommandError) {
        let name = arguments.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let parts = name.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let action = Action(rawValue: String(parts[0])),
            parts[1] == "generic-password" || parts[1] == "internet-password"
        else { throw .unknownCommand(name) }
        self.action = action
        isInternet = parts[1] == "internet-password"
        try read(arguments.dropFirst())
        guard !place.isEmpty else { throw .missing("-s") }
        if action == .add || (action == .delete && isInternet), account == nil { throw .missing("-a") }
    }

    private mutating func read(_ arguments: ArraySlice<[UInt8]>) throws(SecurityCommandError) {
        var rest = arguments
        while let word = rest.popFirst() {
            guard word.count > 1, word[0] == UInt8(ascii: "-") else {
                // The name of a keychain file: there is one keychain.
                // It may also be the rest of a password without quotation marks, so it is not repeated.
                ignore("the name of a keychain")
                continue
            }
            if word == Array("--".utf8) { continue }
            var letters = word.dropFirst()
            while let letter = letters.popFirst() {
                let option = Character(Unicode.Scalar(letter))
                if set(flag: option) { continue }
                // The rest of the word, or the next one.
                let value = letters.isEmpty ? rest.popFirst() : Array(letters)
                letters = []
                if option == "w", action == .add {
                    password =
                        try value.map { bytes throws(SecurityCommandError) in .argument(try Self.bounded(bytes)) }
                        ?? .asked
                    continue
                }
                guard let value else { throw .missing("a value of -\(option)") }
                try set(option, Self.bounded(value))
            }
        }
    }

    private mutating func set(flag option: Character) -> Bool {
        switch (option, action) {
        case ("U", .add): updates = true
        case ("A", .add): isOpen = true
        case ("w", .find): printsPassword = true
        case ("g", .find): showsPassword = true
        default: return false
        }
        return true
    }

    private mutating func set(_ option: Character, _ value: [UInt8]) throws(SecurityCommandError) {
        guard let text = String(validating: value, as: UTF8.self), !text.unicodeScalars.contains("\0") else {
            throw .malformed("-\(option)")
        }
        switch option {
        case "a": account = text
        case "s": place = text
        case "l" where action == .add: ignore("-l")
        case "l": if place.isEmpty { place = text }
        case "X" where action == .add:
            guard let bytes = Self.bytes(hexadecimal: value) else { throw .malformed("-X") }
            password = .argument(bytes)
        case "p" where isInternet: path = text.isEmpty ? nil : text
        case "p" where action == .add: password = .argument(value)
        case "P" where isInternet:
            guard let number = UInt16(text) else { throw .malformed("-P") }
            port = number == 0 ? nil : number
        case "r" where isInternet:
            guard let name = Self.schemes[text.count == 3 ? text + " " : text] else { throw .malformed("-r") }
            scheme = name
        // Without a name it says that no program is let in, as is so anyway.
        case "T" where action == .add: if !text.isEmpty { try add(program: text) }
        case "c", "C", "D", "G", "j": try ignoreWhenAdding(option)
        case "d" where isInternet, "t" where isInternet: try ignoreWhenAdding(option)
        default: throw .unknownOption(option)
        }
    }

    private mutating func add(program: String) throws(SecurityCommandError) {
        guard program.hasPrefix("/"), programs.count < CredentialMessages.maximumPrograms else {
            throw .malformed(
                "-T, which takes the absolute path of a program, \(CredentialMessages.maximumPrograms) times at most,")
        }
        if !programs.contains(program) { programs.append(program) }
    }

    /// What is not kept cannot be looked for either.
    private mutating func ignoreWhenAdding(_ option: Character) throws(SecurityCommandError) {
        guard action == .add else { throw .unsupported("-\(option)") }
        ignore("-\(option)")
    }

    private mutating func ignore(_ word: String) {
        if !ignored.contains(word) { ignored.append(word) }
    }

    private static func bounded(_ value: [UInt8]) throws(SecurityCommandError) -> [UInt8] {
        guard value.count <= maximumCount else { throw .malformed("a value, which is too long") }
        return value
    }

    private static func bytes(hexadecimal text: [UInt8]) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var found: [UInt8] = []
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = Character(Unicode.Scalar(text[index])).hexDigitValue,
                let low = Character(Unicode.Scalar(text[index + 1])).hexDigitValue
            else { return nil }
            found.append(UInt8(high << 4 | low))
        }
        return found
    }
}

extension CredentialMessages.Failure {
    /// The exit status of `security`: the low byte of the OSStatus (SC-2).
    public var securityStatus: Int32 {
        switch self {
        case .gone: 44
        case .duplicate: 45
        case .denied, .busy: 51
        case .locked: 36
        case .cancelled: 128
        case .unavailable: 53
        case .invalid: 206
        }
    }
}

/// Why arguments are no command: exit status 2.
public enum SecurityCommandError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownCommand(String)
    case unknownOption(Character)
    case missing(String)
    case malformed(String)
    case unsupported(String)

    /// For a person.
    public var description: String {
        switch self {
        case .unknownCommand(let name): "\(name) is not supported"
        case .unknownOption(let option): "there is no option -\(option) here"
        case .missing(let what): "\(what) is missing"
        case .malformed(let what): "\(what) is malformed"
        case .unsupported(let what): "\(what) is not kept, so it cannot be looked for"
        }
    }
}

/// What `security` prints (SC-3).
public enum SecurityOutput {
    /// `-w`: the password and a line feed; hexadecimal where not all of it is printable.
    public static func password(_ bytes: [UInt8]) -> [UInt8] {
        let isPrintable = bytes.allSatisfy { (0x20...0x7E).contains($0) }
        return (isPrintable ? bytes : hexadecimal(bytes, "0123456789abcdef")) + [0x0A]
    }

    /// `-g`: a line of its own, for standard error.
    public static func shown(_ bytes: [UInt8]) -> [UInt8] { Array("password: ".utf8) + blob(bytes) + [0x0A] }

    /// The attributes.
    ///
    /// - Parameters:
    ///   - command: What was looked for.
    ///   - account: Of the item that was found.
    /// - Returns: Lines for standard output.
    public static func attributes(of command: SecurityCommand, account: String) -> [UInt8] {
        var lines: [[UInt8]] = []
        func line(_ name: String, _ type: String, _ value: [UInt8]) {
            lines.append(Array("    \(name)<\(type)>=".utf8) + value)
        }
        let place = blob(Array(command.place.utf8))
        line("0x00000007 ", "blob", place)
        line("\"acct\"", "blob", blob(Array(account.utf8)))
        if command.isInternet {
            line("\"path\"", "blob", command.path.map { blob(Array($0.utf8)) } ?? Array("<NULL>".utf8))
            line("\"port\"", "uint32", Array("0x\(padded(String(command.port ?? 0, radix: 16), 8))".utf8))
            line("\"srvr\"", "blob", place)
        } else {
            line("\"svce\"", "blob", place)
        }
        let head =
            "keychain: \"touchstone\"\nversion: 512\nclass: \"\(command.isInternet ? "inet" : "genp")\"\nattributes:\n"
        return Array(head.utf8) + lines.flatMap { $0 + [0x0A] }
    }

    private static func padded(_ text: String, _ count: Int) -> String {
        String(repeating: "0", count: max(0, count - text.count)) + text
    }

    /// In quotation marks; what is not printable as octal, and all of it in hexadecimal before that.
    static func blob(_ bytes: [UInt8]) -> [UInt8] {
        func isPlain(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\\") }
        var found: [UInt8] = []
        let hasPlain = bytes.contains(where: isPlain)
        if !bytes.allSatisfy(isPlain) {
            found += Array("0x".utf8) + hexadecimal(bytes, "0123456789ABCDEF") + Array((hasPlain ? "  " : "").utf8)
        }
        guard hasPlain else { return found }
        found.append(UInt8(ascii: "\""))
        for byte in bytes {
            found += isPlain(byte) ? [byte] : Array("\\\(padded(String(byte, radix: 8), 3))".utf8)
        }
        return found + [UInt8(ascii: "\"")]
    }

    private static func hexadecimal(_ bytes: [UInt8], _ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}
