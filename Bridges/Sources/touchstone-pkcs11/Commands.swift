import ArgumentParser
import BridgeCommands
import BridgeCore
import Foundation
import P11Token

struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a key.",
        discussion: """
            EXAMPLE
              touchstone-pkcs11 create "work certificate"
            """)

    @Argument(help: "What you call it, at most 64 bytes.")
    var name: String
    @Flag(exclusivity: .exclusive, help: "What using it takes (default: a finger or a face, or the passcode).")
    var asks: Asks = .userPresence
    @Flag(
        help:
            "Have programs log in before each use, with any PIN. Some ask you for one then; ssh-agent refuses such a key."
    )
    var explicitLogin = false
    @OptionGroup var socket: BridgeSocket

    func validate() throws {
        guard KeyName.isValid(name) else {
            throw ValidationError(
                "a name has 1 to 64 bytes that can be read, and does not begin with '-' or a space")
        }
    }

    func run() throws {
        let keys = try socket.ask(
            .create(name: name, protection: asks.protection, wantsExplicitLogin: explicitLogin))
        guard let key = keys.first else { throw Problem("the bridge made no key") }
        print(key.description)
        asks.warn()
    }
}

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists keys.")
    @OptionGroup var socket: BridgeSocket

    func run() throws {
        for key in try socket.ask(.list) {
            print(key.description)
        }
    }
}

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a key: how programs name it, its public half, and its certificate.")
    @Argument(help: "What you call it.", completion: .keys(of: BridgeSocket.self))
    var name: String
    @OptionGroup var socket: BridgeSocket

    func run() throws {
        let key = try socket.key(name)
        print(key.description)
        let info = TokenKey(number: 0, label: "", identifier: [], point: Array(key.publicKey)).publicKeyInfo
        print(PEM.text("PUBLIC KEY", Data(info)))
        if let certificate = key.certificate { print(PEM.text("CERTIFICATE", certificate)) }
    }
}

struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keeps the certificate of a key beside it.",
        discussion: """
            The file is PEM or DER. If it has several certificates, the one for the key is kept. It replaces the \
            earlier one.

            EXAMPLE
              touchstone-pkcs11 add work work.pem
            """)

    @Argument(help: "What you call the key.", completion: .keys(of: BridgeSocket.self))
    var name: String
    @Argument(help: ArgumentHelp("The file.", valueName: "certificate.pem"), completion: .file())
    var file: String
    @OptionGroup var socket: BridgeSocket

    func run() throws {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: file))
        } catch {
            throw Problem("\(file) cannot be read")
        }
        let certificates = PEM.contents("CERTIFICATE", data) ?? [data]
        let point = Array(try socket.key(name).publicKey)
        guard let own = certificates.first(where: { TokenCertificate(der: Array($0))?.point == point }) else {
            throw Problem("no certificate in \(file) is for this key")
        }
        try socket.ask(.add(name: name, certificate: own))
        let others = certificates.count - 1
        if others > 0 {
            print(
                "\(others) more in \(file) not kept: give them to the program that shows the certificate, as its chain."
            )
        }
    }
}

struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says how often a key asks.",
        discussion: """
            EXAMPLE
              touchstone-pkcs11 set work --reuse 60
            """)

    @Argument(help: "What you call it.", completion: .keys(of: BridgeSocket.self))
    var name: String
    @Option(
        help: ArgumentHelp(
            "Seconds for which an approval is good for the same program, 0 to 300.", valueName: "seconds"))
    var reuse: Int
    @OptionGroup var socket: BridgeSocket

    func validate() throws {
        guard (0...300).contains(reuse) else { throw ValidationError("an approval can be good for 0 to 300 seconds") }
    }

    func run() throws { try socket.ask(.set(name: name, reuse: Double(reuse))) }
}

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes a key and its certificate for ever.")
    @Argument(help: "What you call it.", completion: .keys(of: BridgeSocket.self))
    var name: String
    @OptionGroup var socket: BridgeSocket

    func run() throws { try socket.ask(.remove(name: name)) }
}

extension ManagementAnswer.Key {
    /// A line with its name, and what there is to know of it.
    var description: String {
        let reused = reuse > 0 ? ", again without asking for \(Int(reuse)) s" : ""
        let lines = [
            "\(name)",
            "  asks for:     \(protection.rawValue)\(reused)\(wantsExplicitLogin ? ", after a login" : "")",
            "  URI:          \(uri)",
            "  ID:           \(identifier.map { String(format: "%02x", $0) }.joined())",
            "  certificate:  \(certificate == nil ? "none" : "yes")",
        ]
        // A path is what another program chose.
        return (lines + (madeBy.map { ["  made by:      \(Sentence.printable($0))"] } ?? [])).joined(separator: "\n")
    }

    /// As RFC 7512 writes it.
    private var uri: String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return "pkcs11:token=Touchstone;object="
            + (name.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")
    }
}

/// Text around bytes.
enum PEM {
    static func text(_ label: String, _ data: Data) -> String {
        let base64 = data.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(base64)\n-----END \(label)-----"
    }

    /// What a file has of one label; nil if it has nothing of it.
    static func contents(_ label: String, _ file: Data) -> [Data]? {
        guard let text = String(data: file, encoding: .utf8) else { return nil }
        let parts = text.components(separatedBy: "-----BEGIN \(label)-----").dropFirst()
        let found = parts.compactMap { part in
            part.range(of: "-----END \(label)-----").flatMap {
                Data(base64Encoded: String(part[..<$0.lowerBound]), options: .ignoreUnknownCharacters)
            }
        }
        return found.isEmpty ? nil : found
    }
}
