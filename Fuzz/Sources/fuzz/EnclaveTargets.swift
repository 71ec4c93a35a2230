import Crypto
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneMemory

@testable import TouchstoneEnclave

/// A root of trust that stands still, so that what was sealed opens again.
private struct StillRoot: RootOfTrust {
    let kind = "software"
    func derive(_ label: String, _ input: Data) throws -> SecretBytes {
        var code = HMAC<SHA256>(key: SymmetricKey(data: Data(count: 32)))
        code.update(data: Data("\(label.utf8.count) \(label)".utf8) + input)
        return SecretBytes(Data(code.finalize()))
    }
}

/// Always the same, so that a run can be repeated.
private struct StillRandomness: RandomSource {
    func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        for index in bytes.indices { unsafe bytes[index] = UInt8(truncatingIfNeeded: index) }
    }
}

private let deviceKey = SecretBytes([UInt8](repeating: 3, count: 32))
/// Of another device: what is sealed under it is as good as any, and opens with no key of this one.
private let foreignKey = SecretBytes([UInt8](repeating: 5, count: 32))
private let blobKey = SymmetricKey(data: Data(repeating: 4, count: 32))

/// The body under a right head: nobody else can write one, but older versions of ours did.
private func authenticated(_ body: Data) -> Data {
    let code = HMAC<SHA256>.authenticationCode(for: body, using: deviceKey.symmetricKey)
    return Data("touchstone-enclave-state 1\n\(code.map { String(format: "%02x", $0) }.joined())\n".utf8) + body
}

private func state(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    if choice & 1 == 0 {
        hold((try? EnclaveStateFile.decode(rest, key: deviceKey)) == nil, "somebody wrote a state without the key")
    }
    guard
        let state = unlessRefused(
            [EnclaveStateError.self], { try EnclaveStateFile.decode(authenticated(rest), key: deviceKey) })
    else { return }
    guard let written = try? EnclaveStateFile.encode(state, key: deviceKey) else { return }
    guard let again = try? EnclaveStateFile.decode(written, key: deviceKey) else { broken("a state is not read again") }
    hold(again == state, "a state changes")
    _ = unlessRefused([EnclaveStateError.self]) {
        try Enclave(
            state: state, deviceKey: deviceKey, root: StillRoot(), random: StillRandomness(), now: 1,
            policy: PasscodePolicy(), touchDelay: 0)
    }
}

private func states() throws -> [Data] {
    var state = try EnclaveState.fresh(
        isSimulated: true, biometryType: .touchID, sensor: nil, deviceKey: deviceKey, StillRandomness())
    let first = try EnclaveStateFile.encode(state, key: foreignKey)
    state.passcodeFailures = 3
    state.templates = [.init(name: "a", digest: Data(count: 32))]
    state.passcode = .init(salt: Data(count: 16), cost: .minimum, classKeys: ["ak": Data(count: 60)], kind: nil)
    state.log = KeptLog(head: .empty, isOpen: true)
    state.revision = 7
    let second = try EnclaveStateFile.encode(state, key: foreignKey)
    return [first, second].flatMap { file -> [Data] in
        let body = file.split(separator: UInt8(ascii: "\n"), maxSplits: 2)[2]
        return [Data([1]) + body, Data([0]) + file]
    }
}

/// What apps, touchstoned and agents hand the enclave sealed.
private func sealed(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    switch choice % 4 {
    case 0: hold(PrivateKeyBlob(rest, key: blobKey) == nil, "somebody sealed a key without the key")
    case 1:
        // As what is in a blob of ours: it can be of an older version.
        let context = Data("io.touchstone private key blob 1".utf8)
        guard let box = try? AES.GCM.seal(rest, using: blobKey, authenticating: context), let combined = box.combined,
            let blob = PrivateKeyBlob(Data([1]) + combined, key: blobKey)
        else { return }
        guard let again = try? blob.sealed(key: blobKey, StillRandomness()),
            let second = PrivateKeyBlob(again, key: blobKey)
        else {
            broken("a blob is written and not read")
        }
        hold(second.description == blob.description && second.sealedKey == blob.sealedKey, "a blob changes")
        _ = PrivateKey(blob.kind, rawRepresentation: blob.sealedKey)
        _ = HeldKey(rawRepresentation: blob.sealedKey)
    case 2:
        let payload = SecretBytes(rest)
        for count in 1...2 {
            let refused: [any Error.Type] = [Enclave.Refused.self]
            guard let passcodes = unlessRefused(refused, { try Enclave.passcodes(in: payload, count: count) }) else {
                continue
            }
            hold(
                passcodes.count == count && passcodes.allSatisfy { $0.count <= SealedPasscode.maximumPasscodeLength },
                "passcodes of other lengths")
        }
    default:
        hold(deviceKey.open(rest, context: Data()) == nil, "somebody sealed without the key")
        hold((try? Sealed.open(rest, with: recoveryKey, "purpose")) == nil, "somebody sealed to a key")
        _ = Accessibility(wrappedKey: rest)
    }
}

private let recoveryKey: Curve25519.KeyAgreement.PrivateKey = {
    guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: Data(repeating: 9, count: 32)) else {
        broken("no key")
    }
    return key
}()

private func log(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    let text = String(decoding: rest, as: UTF8.self)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var check = LogCheck(from: Int(choice & 7))
    for (index, line) in lines.enumerated() {
        if let entry = LogEntry(line: line) {
            hold(entry.sequence > 0, "an entry without a number")
            _ = (entry.sentence, entry.isRefusal)
        }
        check.add(line, isGenuine: choice & 8 == 0 || index.isMultiple(of: 2))
    }
    check.finish(between: choice & 16 == 0 ? nil : (.empty, LogHead(sequence: 3, code: "")))
    var chain = LogChain(deviceKey: deviceKey, boot: Data(count: 8), kept: nil)
    hold(lines.allSatisfy { !chain.isGenuine($0) }, "somebody wrote an entry without the key")
    chain.resume(newestLines: lines)
    // What an app calls itself goes into a line of its own and nowhere else.
    chain.note(LogFact(event: .itemOpened, app: AppIdentifier(text), by: AppIdentifier(text), asked: nil))
    for line in chain.lines(now: 1, date: Date(timeIntervalSince1970: 0)) + chain.close(now: 2, date: Date()) {
        hold(chain.isGenuine(line), "a line of ours is not genuine")
        hold(line.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a line is not plain ASCII")
        guard let entry = LogEntry(line: line) else { broken("a line of ours is no entry: \(line)") }
        if let app = entry.app, text.unicodeScalars.count <= 200 { hold(app == text, "an app's name changes") }
    }
}

private func logs() -> [Data] {
    var chain = LogChain(deviceKey: foreignKey, boot: Data(count: 8), kept: nil)
    chain.resume(newestLines: [])
    chain.note(
        LogFact(
            event: .itemOpened, app: "org.example.App", by: "touchstone", asked: "a", factors: [.touchID, .passcode]))
    chain.note(LogFact(event: .callRefused, app: "a\"b\\c\u{1}é", result: "no", count: 4, isRepeatable: true))
    let lines =
        chain.lines(now: 1, date: Date(timeIntervalSince1970: 0))
        + chain.close(now: 2, date: Date(timeIntervalSince1970: 9))
    return [
        Data([0]) + Data(lines.joined(separator: "\n").utf8),
        Data([24]) + Data(lines.reversed().joined(separator: "\n").utf8),
        Data([9]) + Data("a name \u{202E} \0".utf8),
    ]
}

let enclaveTargets: [FuzzTarget] = [
    FuzzTarget(name: "state", run: state, seeds: states),
    FuzzTarget(name: "sealed", run: sealed) {
        var blob = PrivateKeyBlob(
            kind: .p256, control: try AccessControl(protection: .whenUnlocked, flags: []), accessGroup: "group",
            publicKey: Data(count: 65))
        blob.sealedKey = Data(repeating: 7, count: 32)
        var entry = Data(count: SealedPasscode.entryLength)
        entry[0] = 4
        return [
            Data([0]) + (try blob.sealed(key: foreignKey.symmetricKey, StillRandomness())),
            Data([1]) + blob.description + blob.sealedKey,
            Data([2]) + entry,
            Data([2]) + entry + entry,
            Data([3]) + (try StillRandomness().seal(SecretBytes([1, 2]), under: foreignKey, context: Data("x".utf8))),
        ]
    },
    FuzzTarget(name: "log", run: log, seeds: logs),
]
