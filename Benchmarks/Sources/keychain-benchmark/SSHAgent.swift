import Foundation

/// As much of a client of ssh-agent as it takes to have something signed (draft-ietf-sshm-ssh-agent).
final class SSHAgent {
    private struct Unexpected: Error { var kind: UInt8? }

    private let socket: UnixSocket
    /// The first key that it holds, as the protocol writes public keys.
    private let key: Data

    init(path: String) throws {
        socket = try UnixSocket(path: path)
        // How many keys, then the first one's public key and its comment.
        let answer = try Self.call(socket, kind: 11, Data(), expecting: 12).dropFirst(4)
        guard let length = Self.number(answer), answer.count >= 4 + length else { throw Unexpected() }
        key = Data(answer.dropFirst(4).prefix(length))
    }

    func sign(_ data: Data) throws -> Data {
        try Self.call(socket, kind: 13, Self.string(key) + Self.string(data) + Self.bytes(0), expecting: 14)
    }

    private static func call(_ socket: UnixSocket, kind: UInt8, _ body: Data, expecting: UInt8) throws -> Data {
        try socket.send(bytes(UInt32(1 + body.count)) + [kind] + body)
        var answer = Data()
        while true {
            if let length = number(answer), answer.count >= 4 + length { break }
            answer += try socket.receive(upTo: 65_536)
        }
        guard answer.dropFirst(4).first == expecting else { throw Unexpected(kind: answer.dropFirst(4).first) }
        return Data(answer.dropFirst(5))
    }

    private static func string(_ data: Data) -> Data { bytes(UInt32(data.count)) + data }

    private static func bytes(_ number: UInt32) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }

    private static func number(_ bytes: Data) -> Int? {
        bytes.count < 4 ? nil : bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }
}
