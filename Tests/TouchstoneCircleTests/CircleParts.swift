import Crypto
import Foundation

@testable import TouchstoneCircle

/// A device with its keys, as its enclave would hold them.
struct TestMember {
    let signing = P256.Signing.PrivateKey()
    let sealing = Curve25519.KeyAgreement.PrivateKey()
    let name: String

    init(_ name: String) { self.name = name }

    var identity: MemberIdentity { .init(signing: signing.publicKey, sealing: sealing.publicKey) }
    var id: MemberID { identity.id }

    func sign(_ bytes: Data) throws -> Data { try signing.signature(for: bytes).rawRepresentation }

    func keys(_ chain: CircleChain) throws -> EpochKeys { try EpochKeys(chain, of: id, opening: sealing) }

    func found() throws -> CircleChain { try .found(by: identity, named: name, random: random, sign: sign) }

    func adding(_ other: TestMember, to chain: CircleChain) throws -> CircleLink {
        try chain.adding(other.identity, named: other.name, by: id, keys: keys(chain), sign: sign)
    }

    func removing(_ other: TestMember, from chain: CircleChain, lastCounter: UInt64 = 0) throws -> CircleLink {
        try chain.removing(
            other.id, lastCounter: lastCounter, by: id, keys: keys(chain), random: random, sign: sign)
    }
}

func random(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }) }

extension CircleChain {
    func with(_ link: CircleLink) throws(ChainError) -> CircleChain {
        var chain = self
        try chain.accept([link.bytes])
        return chain
    }

    var allBytes: [Data] { links.map(\.bytes) }
}

extension Data {
    func flipped(bit: Int) -> Data {
        var copy = Data(self)
        copy[bit / 8] ^= 1 << (bit % 8)
        return copy
    }
}

/// Always the same after the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Gives one device all that another has, and its head.
func send(_ from: inout Ledger, to other: inout Ledger, now: UInt64, without: UInt64? = nil) {
    let head = from.makeHead(epoch: 0, sumKey: sumKey, now: now)
    for versions in from.versions.values {
        for version in versions where version.member == from.me && version.counter != without {
            _ = other.take(version, now: now)
        }
    }
    _ = other.take(head, sumKey: sumKey, now: now)
    other.checkHeads()
}
