public import ArgumentParser
import BridgeCore

/// The socket of a bridge that has keys, as an option of the commands that manage them.
public protocol KeysOfBridge: ParsableArguments {
    /// The program that listens there.
    static var program: String { get }
    /// What its owner calls each key.
    ///
    /// - Throws: `Problem` if the bridge does not answer.
    func names() throws -> [String]
}

extension KeysOfBridge {
    /// Asks the bridge.
    ///
    /// - Parameters:
    ///   - message: All of it.
    ///   - path: Of its socket.
    ///   - longest: The most bytes that an answer has.
    ///   - length: How long the answer is that begins with these bytes; nil where they do not say it yet, and 0 where no answer does.
    /// - Returns: The whole answer.
    /// - Throws: `Problem`.
    public func exchange(
        _ message: [UInt8], at path: String, longest: Int, _ length: ([UInt8]) -> Int?
    ) throws(Problem) -> [UInt8] {
        do throws(ConnectionEnd) {
            return try ServiceConnection(path: path).exchange(message, longest: longest) { MessageLength(length($0)) }
        } catch {
            throw Problem("nothing answers on \(path); start it with: \(Self.program) --socket \(path)")
        }
    }

    /// What a bridge's refusal means.
    ///
    /// - Parameter word: Of a `BridgeFailure`.
    /// - Returns: A sentence for the person who typed the command.
    public func sentence(_ word: String) -> String {
        switch word {
        case "gone": "there is no key of this name"
        case "unavailable": "the device does not answer; touchstone doctor says why"
        case "denied": "the device refuses it; touchstone doctor says whether a passcode and a finger are missing"
        case "locked": "the device is locked; unlock it with: touchstone device unlock"
        default: "the device refuses it: \(word)"
        }
    }
}

extension CompletionKind {
    /// The names of the keys that a bridge has; nothing if it does not answer.
    public static func keys(of bridge: (some KeysOfBridge).Type) -> CompletionKind {
        .custom { words, _, _ in
            let socket = words.firstIndex(of: "--socket").flatMap {
                words.indices.contains($0 + 1) ? words[$0 + 1] : nil
            }
            return (try? bridge.parse(socket.map { ["--socket", $0] } ?? []).names()) ?? []
        }
    }
}
