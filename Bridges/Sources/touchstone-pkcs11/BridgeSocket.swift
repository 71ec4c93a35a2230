import ArgumentParser
import BridgeCore
import Foundation
import P11RPC

/// Where the bridge listens that a command asks.
struct BridgeSocket: ParsableArguments {
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
        let contents = Array(try JSONEncoder().encode(request))
        let answer: [UInt8]
        do {
            let connection = try ServiceConnection(path: path)
            answer = try connection.exchange(ManagementFrame.request(contents), longest: Frame.longest) { bytes in
                switch ManagementFrame.length(bytes) {
                case nil: .unknown
                case 0: .malformed
                case let count?: .bytes(count)
                }
            }
        } catch {
            throw Problem("nothing answers on \(path); start it with: touchstone-pkcs11 --socket \(path)")
        }
        guard let contents = ManagementFrame.contents(answer) else {
            throw Problem(
                "another program listens on \(path), or this touchstone-pkcs11 is not the one that runs there; "
                    + "name the socket with --socket")
        }
        switch try JSONDecoder().decode(ManagementAnswer.self, from: Data(contents)) {
        case .keys(let keys): return keys
        case .failed(let word): throw Problem(Self.sentence(word, request))
        }
    }

    private static func sentence(_ word: String, _ request: ManagementRequest) -> String {
        switch (word, request) {
        case ("invalid", .create): "there is a key of this name already; see: touchstone-pkcs11 list"
        case ("invalid", .add): "the certificate is not for this key, or longer than 32 KiB"
        case ("busy", _): "there are 256 keys already; remove one with: touchstone-pkcs11 remove NAME"
        case ("gone", _): "there is no key of this name"
        case ("unavailable", _): "the device does not answer; touchstone doctor says why"
        case ("denied", _):
            "the device refuses it; touchstone doctor says whether a passcode and a finger are missing"
        case ("locked", _): "the device is locked; unlock it with: touchstone device unlock"
        default: "the device refuses it: \(word)"
        }
    }

    func key(_ name: String) throws -> ManagementAnswer.Key {
        guard let key = try ask(.list).first(where: { $0.name == name }) else {
            throw Problem("there is no key of this name")
        }
        return key
    }
}

struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension CompletionKind {
    /// The names of the keys that the bridge has; nothing if it does not answer.
    static var keys: CompletionKind {
        .custom { words, _, _ in
            let socket = words.firstIndex(of: "--socket").flatMap {
                words.indices.contains($0 + 1) ? words[$0 + 1] : nil
            }
            let bridge = try? BridgeSocket.parse(socket.map { ["--socket", $0] } ?? [])
            return ((try? bridge?.ask(.list)) ?? []).map(\.name)
        }
    }
}
