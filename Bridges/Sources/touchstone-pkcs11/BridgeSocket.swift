import ArgumentParser
import BridgeCommands
import Foundation
import P11RPC

/// Where the bridge listens that a command asks.
struct BridgeSocket: KeysOfBridge {
    static let program = "touchstone-pkcs11"

    @Option(help: ArgumentHelp("The bridge's socket.", valueName: "path"))
    var socket: String?

    /// - Throws: A sentence for the person who typed it.
    @discardableResult func ask(_ request: ManagementRequest) throws -> [ManagementAnswer.Key] {
        let environment = ProcessInfo.processInfo.environment
        // Where 'touchstone bridge enable pkcs11' has it: of a device of one's own, or of the system's.
        let places =
            [environment["XDG_RUNTIME_DIR"].map { "\($0)/touchstone/pkcs11.sock" }].compactMap { $0 }
            + ["/run/touchstone/\(geteuid())/pkcs11.sock"]
        guard
            let path = socket ?? environment["TOUCHSTONE_PKCS11_SOCKET"]
                ?? places.first(where: { FileManager.default.fileExists(atPath: $0) })
        else {
            throw Problem("no bridge is found; run 'touchstone bridge enable pkcs11', or name its socket with --socket")
        }
        let message = ManagementFrame.request(Array(try JSONEncoder().encode(request)))
        let answer = try exchange(message, at: path, longest: Frame.longest, ManagementFrame.length)
        guard let contents = ManagementFrame.contents(answer) else {
            throw Problem(
                "another program listens on \(path), or this touchstone-pkcs11 is not the one that runs there; "
                    + "name the socket with --socket")
        }
        switch try JSONDecoder().decode(ManagementAnswer.self, from: Data(contents)) {
        case .keys(let keys): return keys
        case .failed(let word): throw Problem(sentence(word, request))
        }
    }

    private func sentence(_ word: String, _ request: ManagementRequest) -> String {
        switch (word, request) {
        case ("invalid", .create): "there is a key of this name already; see: touchstone-pkcs11 list"
        case ("invalid", .add): "the certificate is not for this key, or longer than 32 KiB"
        case ("busy", _): "there are 256 keys already; remove one with: touchstone-pkcs11 remove NAME"
        default: sentence(word)
        }
    }

    func names() throws -> [String] { try ask(.list).map(\.name) }

    func key(_ name: String) throws -> ManagementAnswer.Key {
        guard let key = try ask(.list).first(where: { $0.name == name }) else { throw Problem(sentence("gone")) }
        return key
    }
}
