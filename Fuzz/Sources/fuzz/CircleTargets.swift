import Crypto
import Foundation

@testable import TouchstoneCircle

/// A member of a circle: its keys are the same in every run, so that a find can be repeated.
private struct StillMember {
    let signing: P256.Signing.PrivateKey
    let sealing: Curve25519.KeyAgreement.PrivateKey

    init(_ number: UInt8) throws {
        signing = try .init(rawRepresentation: Data(repeating: number, count: 32))
        sealing = try .init(rawRepresentation: Data(repeating: number, count: 32))
    }

    var identity: MemberIdentity { .init(signing: signing.publicKey, sealing: sealing.publicKey) }
    func sign(_ bytes: Data) throws -> Data { try signing.signature(for: bytes).rawRepresentation }
}

private func still(_ count: Int) -> Data { Data((0..<count).map { UInt8(truncatingIfNeeded: $0) }) }

/// A chain of two members, made once, and what belongs to it.
private struct StillCircle {
    let founder: StillMember
    let chain: CircleChain
    let keys: EpochKeys

    init() throws {
        founder = try StillMember(1)
        var chain = try CircleChain.found(by: founder.identity, named: "laptop", random: still, sign: founder.sign)
        keys = try EpochKeys(chain, of: founder.identity.id, opening: founder.sealing)
        let link = try chain.adding(
            StillMember(2).identity, named: "desktop", by: founder.identity.id, keys: keys, sign: founder.sign)
        try chain.accept([link.bytes])
        self.chain = chain
    }

    func record(_ content: RecordContent, secret: Data) throws -> Data {
        let header = RecordHeader(
            name: keys.recordName(itemClass: "genp", primaryKey: Data("a".utf8)), epoch: 0,
            member: founder.identity.id, counter: 1, clock: ClockTime(milliseconds: 1_800_000_000_000))
        return try SealedRecord(
            header, content, secret: secret, under: keys.current, random: still, sign: founder.sign
        ).bytes
    }

    func head() throws -> Data {
        var ledger = Ledger(me: founder.identity.id, membership: chain.membership)
        let key = SymmetricKey(data: still(32))
        return try ledger.makeHead(epoch: 0, sumKey: key, now: 1_800_000_000_000).bytes(sign: founder.sign)
    }
}

private let circle = try? StillCircle()

/// What is read is written as it came: there are no two ways to write the same.
private func circleObject(_ bytes: Data) {
    guard let circle else { broken("there is no circle") }
    let (choice, rest) = bytes.choice
    switch choice % 6 {
    case 0:
        if let link = unlessRefused([MalformedBytes.self], { try CircleLink(rest) }) {
            let again = try? CircleLink(
                link.change, number: link.number, previous: link.previous, signer: link.signer,
                sign: { _ in link.signature })
            hold(again?.bytes == rest, "a link can be written in two ways")
            hold(again?.hash == link.hash, "a link has two hashes")
        }
    case 1:
        var chain = circle.chain
        let before = chain.head
        if unlessRefused([ChainError.self], { try chain.accept([rest]) }) == nil {
            hold(chain.head == before, "a refused link changed the chain")
        }
    case 2:
        guard let record = unlessRefused([MalformedBytes.self], { try SealedRecord(rest) }) else { return }
        hold(record.bytes == rest, "a record changes")
        _ = record.opened(with: circle.keys)
    case 3:
        _ = unlessRefused([MalformedBytes.self]) {
            try MemberHead(rest) { circle.chain.members[$0]?.identity }
        }
    case 4:
        if let application = unlessRefused([MalformedBytes.self], { try JoinApplication(rest) }) {
            hold(application.bytes == rest, "an application changes")
        }
    default:
        if let challenge = unlessRefused([MalformedBytes.self], { try JoinChallenge(rest) }) {
            hold(challenge.bytes == rest, "a challenge changes")
        }
    }
}

private func circleObjects() throws -> [Data] {
    guard let circle else { return [] }
    let links = circle.chain.links.map(\.bytes)
    let item = RecordContent.item(
        protection: 6, accessGroup: still(5), attributes: still(100), binding: still(36), key: still(32))
    var seeds = links.map { Data([0]) + $0 } + links.map { Data([1]) + $0 }
    seeds.append(Data([2]) + (try circle.record(item, secret: still(60))))
    seeds.append(Data([2]) + (try circle.record(.tombstone, secret: Data())))
    seeds.append(Data([3]) + (try circle.head()))
    if let application = JoinApplication(try StillMember(3).identity, named: "phone", number: still(32)) {
        seeds.append(Data([4]) + application.bytes)
        let challenge = JoinChallenge(
            to: application, circle: circle.chain.circle, approver: circle.founder.identity.id, number: still(32))
        seeds.append(Data([5]) + challenge.bytes)
    }
    return seeds
}

let circleTargets = [FuzzTarget(name: "circle", run: circleObject, seeds: circleObjects)]
