import Crypto
import CryptoExtras
import Foundation
import Glibc
import TouchstoneEnclave
import TouchstoneMemory

@testable import TouchstoneTPMRoot

/// In this program nobody pauses: a TPM that asks to be asked later would be asked twice a second.
@_cdecl("usleep")
func passOver(_ microseconds: UInt32) -> CInt { 0 }

private let tpm = Impostor("tpm")

/// What a TPM, or somebody on the way to it, may answer; and what is kept of one.
private func readTPM(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    switch choice & 3 {
    case 0:
        tpm.serve({ speak($0, rest) }) {
            _ = unlessRefused([TPMError.self]) {
                _ = try TPMConnection(TPMAddress("swtpm:path=\(tpm.path)"), pinned: nil)
            }
        }
    case 1:
        let file = unlessRefused([TPMError.self]) { try TPMRootFile(Kept(bytes: rest)) }
        if let file, let written = try? file.encoded() {
            hold((try? TPMRootFile(Kept(bytes: written))) != nil, "what is kept is not read again")
        }
    case 2:
        guard let key = RecoveryKey(text: SecretBytes(rest)) else { return }
        let spelled = key.text
        let again = spelled.withUnsafeBytes { RecoveryKey(text: SecretBytes($0)) }
        hold(again != nil, "a recovery key is shown and not read")
    default:
        tpm.serve({ lie($0, rest) }) {
            guard
                let connection = unlessRefused(
                    [TPMError.self], { try TPMConnection(TPMAddress("swtpm:path=\(tpm.path)"), pinned: nil) })
            else { broken("the TPM that lies is not believed") }
            hold(connection.name.count == 34, "a name of another length")
            ask(connection, choice >> 2)
        }
    }
}

private struct Kept: EnclaveStorage {
    let bytes: Data
    func load() throws -> Data? { bytes }
    func replace(_ bytes: Data) throws {}
}

// MARK: before the session

/// Gives one answer for each command; each has its length before it, in two bytes.
@Sendable private func speak(_ connection: Int32, _ bytes: Data) {
    var rest = bytes[...]
    while rest.count >= 2, take(connection) != nil {
        let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
        let answer = Data(rest.dropFirst(2).prefix(count))
        rest = rest.dropFirst(2 + count)
        give(connection, answer)
        // Of an answer that is cut off the rest would be waited for, until the deadline of a command.
        let told = answer.dropFirst(2).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard answer.count >= 10, told <= answer.count else { break }
    }
}

// MARK: in the session

private let index: UInt32 = 0x0180_0001
private let mark = Data(repeating: 3, count: 32)
/// Authorizes what the TPM keeps for us, but no hierarchy and no primary key.
private let value = Data(repeating: 9, count: 32)

private func ask(_ connection: TPMConnection, _ choice: UInt8) {
    let errors: [any Error.Type] = [TPMError.self]
    let secret = SecretBytes(value)
    switch choice & 7 {
    case 0:
        _ = unlessRefused(errors) { try connection.attempts() }
        _ = unlessRefused(errors) { try connection.isEmulated() }
    case 1:
        _ = unlessRefused(errors) { try connection.defineCounter(index, value: secret, mark: mark) }
        _ = unlessRefused(errors) {
            try connection.withCounter(index, value: secret) { read, increment in
                _ = try read()
                try increment()
            }
        }
        _ = unlessRefused(errors) { try connection.undefine(index) }
    case 2: _ = unlessRefused(errors) { try connection.tidy(index...index + 9, keeping: [index], mark: { _ in mark }) }
    case 3:
        guard
            let object = unlessRefused(
                errors, { try connection.seal(secret, under: secret, countsWrongValues: true) })
        else { return }
        let opened = unlessRefused(errors) { try connection.unseal(object, with: secret) }
        hold((opened ?? nil).map { $0.count <= 256 } ?? true, "more than an object keeps")
    case 4:
        guard let (object, point) = unlessRefused(errors, { try connection.makeKey(under: secret) }) else { return }
        hold(point.count == 65, "a point of another length")
        let signature = unlessRefused(errors) {
            try connection.sign(Data(repeating: 1, count: 32), object, value: secret)
        }
        hold(signature.map { $0.count == 64 } ?? true, "a signature of another length")
        let shared = unlessRefused(errors) { try connection.exchange(generator, object, value: secret) }
        hold(shared.map { $0.count == 32 } ?? true, "a shared secret of another length")
    default:
        _ = unlessRefused(errors) { try connection.defineGate(index, secret, value: secret, mark: mark) }
        let opened = unlessRefused(errors) { try connection.openGate(index, value: secret, asking: {}) }
        hold((opened ?? nil).map { $0.count == 32 } ?? true, "a gate's secret of another length")
    }
}

private enum Command {
    static let undefine = 0x122
    static let define = 0x12A
    static let primary = 0x131
    static let increment = 0x134
    static let write = 0x137
    static let read = 0x14E
    static let create = 0x153
    static let exchange = 0x154
    static let load = 0x157
    static let unseal = 0x15E
    static let sign = 0x15D
    static let flush = 0x165
    static let readPublic = 0x169
    static let session = 0x176
    static let capability = 0x17A

    /// Those that our value authorizes.
    static let ofValue: Set = [increment, write, read, exchange, unseal, sign]
    /// Those that name two things; all others name one.
    static let ofTwo: Set = [undefine, increment, write, read]
}

/// The private key of the TPM that lies is 1: its public key is the generator of P-256, and what it agrees on is the other's coordinate.
private let generator = Data([4]) + generatorX + generatorY
private let generatorX = hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
private let generatorY = hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")

private func hex(_ text: String) -> Data {
    Data(stride(from: 0, to: text.utf8.count, by: 2).map { UInt8(text.dropFirst($0).prefix(2), radix: 16) ?? 0 })
}

private func number(_ value: Int, _ size: Int) -> Data {
    Data((0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
}

/// With its length before it, in two bytes.
private func sized(_ data: Data) -> Data { number(data.count, 2) + data }

private func hash(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

private func name(of area: Data) -> Data { Data([0, 0x0B]) + hash(area) }

private func response(_ code: Int, _ body: Data = Data(), hasSession: Bool = false) -> Data {
    number(hasSession ? 0x8002 : 0x8001, 2) + number(10 + body.count, 4) + number(code, 4) + body
}

/// The public area of the primary key, as the template of TouchstoneTPMRoot asks for it.
private let primaryArea =
    number(0x23, 2) + number(0x0B, 2) + number(0x30472, 4) + sized(Data()) + number(6, 2) + number(128, 2)
    + number(0x43, 2) + number(0x10, 2) + number(3, 2) + number(0x10, 2) + sized(generatorX) + sized(generatorY)

/// Behind the public area of what was created: nothing of what the TPM says of it is used.
private let creation = sized(Data()) + sized(Data()) + number(0x8021, 2) + number(0x4000_0001, 4) + sized(Data())

private let primaryAnswer: Data = {
    let body = sized(primaryArea) + creation + sized(name(of: primaryArea))
    return response(
        0, number(0x8000_0000, 4) + number(body.count, 4) + body + sized(Data()) + Data([1]) + sized(Data()),
        hasSession: true)
}()

/// A TPM that knows the key of our session, as it made the primary key itself: what it says is authentic, and may be anything.
///
/// Each answer in the session is two bytes of its length, a byte of its kind, and its content. Of the kind 0 is what a TPM says, to
/// which names and handles are added; of the kind 1 the bytes as they are; of another kind the code of an error.
@Sendable private func lie(_ connection: Int32, _ bytes: Data) {
    var rest = bytes[...]
    var sessionKey: Data?
    let nonce = Data(repeating: 7, count: 32)
    while let command = take(connection).map({ Data($0) }), command.count >= 10 {
        let code = command.dropFirst(6).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        switch code {
        case Command.primary: give(connection, primaryAnswer)
        case Command.flush: give(connection, response(0))
        case Command.capability where sessionKey == nil:
            give(connection, response(0, Data([0]) + number(1, 4) + number(0, 4)))
        case Command.session:
            let caller = content(command, at: 18)
            let x = content(command, at: 18 + 2 + caller.count + 2)
            let salt = hash(number(1, 4) + x + Data("SECRET\0".utf8) + x + generatorX)
            sessionKey = derive(salt, "ATH", nonce, caller)
            give(connection, response(0, number(0x0200_0000, 4) + sized(nonce)))
        default:
            guard rest.count >= 3, let key = sessionKey else { return }
            let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            let kind = rest[rest.startIndex + 2]
            let content = Data(rest.dropFirst(3).prefix(count))
            rest = rest.dropFirst(3 + count)
            guard kind < 2 else {
                give(connection, response(content.prefix(2).reduce(0) { $0 << 8 | Int($1) } | 1))
                continue
            }
            let answer = kind == 1 ? content : complete(content, code, command)
            guard command[1] == 2 else {
                give(connection, response(0, answer))
                continue
            }
            give(connection, authentic(answer, code, command, key, nonce))
        }
    }
}

/// What has a length before it, in two bytes, at this place of a command.
private func content(_ command: Data, at place: Int) -> Data {
    let length = command.dropFirst(place).prefix(2).reduce(0) { $0 << 8 | Int($1) }
    return Data(command.dropFirst(place + 2).prefix(length))
}

/// KDFa of the TPM's library specification, for 32 bytes.
private func derive(_ key: Data, _ label: String, _ one: Data, _ other: Data) -> Data {
    Data(
        HMAC<SHA256>.authenticationCode(
            for: number(1, 4) + Data(label.utf8) + Data([0]) + one + other + number(256, 4),
            using: SymmetricKey(data: key)))
}

/// The parameters of an answer, with the names that are computed from what they are of.
private func complete(_ said: Data, _ code: Int, _ command: Data) -> Data {
    switch code {
    case Command.readPublic: return sized(said) + sized(name(of: said))
    case Command.load:
        // Behind one handle and the authorizations: the closed part, and the public area.
        let start = 14 + 4 + command.dropFirst(14).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return sized(name(of: content(command, at: start + 2 + content(command, at: start).count)))
    default: return said
    }
}

/// An answer in the session: its first parameter is encrypted if that was asked for, and all of it is authenticated.
private func authentic(_ parameters: Data, _ code: Int, _ command: Data, _ key: Data, _ nonce: Data) -> Data {
    // The size of the authorizations, the session, its nonce, and what it does.
    let start = 10 + (Command.ofTwo.contains(code) ? 8 : 4)
    let caller = content(command, at: start + 8)
    let attributes = command.dropFirst(start + 8 + 2 + caller.count).first ?? 0
    let session = Command.ofValue.contains(code) ? key + value : key
    var parameters = parameters
    if attributes & 0x40 != 0, parameters.count > 2 {
        let keys = derive(session, "CFB", nonce, caller)
        let count = content(parameters, at: 0).count
        parameters =
            parameters.prefix(2) + encrypted(Data(parameters.dropFirst(2).prefix(count)), keys)
            + parameters.dropFirst(2 + count)
    }
    let spoken = hash(number(0, 4) + number(code, 4) + parameters)
    let proof = HMAC<SHA256>.authenticationCode(
        for: spoken + nonce + caller + Data([attributes]), using: SymmetricKey(data: session))
    let handle = code == Command.load ? number(0x8000_0001, 4) : Data()
    return response(
        0,
        handle + number(parameters.count, 4) + parameters + sized(nonce) + Data([attributes]) + sized(Data(proof)),
        hasSession: true)
}

/// AES-128-CFB: half of `keys` is the key, and the rest is what it starts with.
private func encrypted(_ data: Data, _ keys: Data) -> Data {
    var (last, done) = (Array(keys.dropFirst(16)), Data())
    for start in stride(from: 0, to: data.count, by: 16) {
        do {
            try AES.permute(&last, key: SymmetricKey(data: keys.prefix(16)))
        } catch {
            broken("no AES: \(error)")
        }
        let block = zip(data.dropFirst(start), last).map { $0 ^ $1 }
        done += block
        last = block
    }
    return done
}

private func tpmSeeds() throws -> [Data] {
    func given(_ answer: Data) -> Data { Data([UInt8(answer.count & 0xFF), UInt8(answer.count >> 8)]) + answer }
    func said(_ content: Data = Data()) -> Data {
        Data([UInt8(content.count & 0xFF), UInt8(content.count >> 8), 0]) + content
    }
    func listed(_ capability: Int, _ entries: [Data]) -> Data {
        Data([0]) + number(capability, 4) + number(entries.count, 4) + entries.reduce(Data(), +)
    }
    func properties(_ list: [(Int, Int)]) -> Data { listed(6, list.map { number($0.0, 4) + number($0.1, 4) }) }
    func place(_ index: UInt32, _ attributes: Int) -> Data {
        number(Int(index), 4) + number(0x0B, 2) + number(attributes, 4) + sized(mark) + number(8, 2)
    }
    let noHandles = given(response(0, listed(1, [])))
    let handles = given(response(0, listed(1, [number(0x8000_0000, 4), number(0x8000_0001, 4)])))
    let counter = said(place(index, 0x2204_0014 | 0x2000_0000))
    let other = said(place(index + 1, 0x2004_0004))
    let thing = Data(repeating: 5, count: 32)
    let keyed = number(8, 2) + number(0x0B, 2) + number(0x52, 4) + sized(Data()) + number(0x10, 2) + sized(thing)
    let key =
        number(0x23, 2) + number(0x0B, 2) + number(0x60472, 4) + sized(Data()) + number(0x10, 2) + number(0x10, 2)
        + number(3, 2) + number(0x10, 2) + sized(generatorX) + sized(generatorY)
    let closed = sized(thing)
    let file = TPMRootFile(
        address: "swtpm:path=/tmp/tpm", name: Data(count: 34), endorsementName: nil,
        root: .init(publicArea: Data([1]), privateArea: Data([2])), counter: index, recovery: Data([3]))
    let text = RecoveryKey().text.withUnsafeBytes { Data($0) }
    return [
        Data([0]) + noHandles + noHandles + given(primaryAnswer)
            + given(response(0, number(0x0200_0000, 4) + sized(thing))),
        Data([0]) + handles + given(response(0)) + given(response(0x8B)) + noHandles + given(response(0x922)),
        Data([0]) + given(response(0x101)), Data([1]) + (try file.encoded()), Data([2]) + text,
        // The choices of `ask`.
        Data([3]) + said(properties([(0x20E, 1), (0x20F, 32), (0x210, 600)]))
            + said(properties([(0x105, 0x4942_4D20), (0x106, 0x5357_2020), (0x107, 0x2054_504D)])),
        Data([3 | 1 << 2]) + said() + said() + counter + said(sized(number(7, 8))) + said() + counter + said(),
        Data([3 | 2 << 2]) + said(listed(1, [number(Int(index), 4), number(Int(index) + 1, 4)])) + other + other + other
            + said(),
        Data([3 | 3 << 2]) + said(closed + sized(keyed) + creation) + said() + said(sized(thing)),
        Data([3 | 4 << 2]) + said(closed + sized(key) + creation) + said()
            + said(number(0x18, 2) + number(0x0B, 2) + closed + closed) + said() + said(sized(closed + closed)),
        Data([3 | 5 << 2]) + said() + said() + other + said(sized(thing)),
        // Wrong, and counted.
        Data([3 | 5 << 2]) + said() + said() + other + Data([2, 0, 2, 0x09, 0x8E]),
    ]
}

let tpmTargets: [FuzzTarget] = [FuzzTarget(name: "tpm", run: readTPM, seeds: tpmSeeds)]
