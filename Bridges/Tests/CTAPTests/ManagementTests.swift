import Crypto
import Foundation
import Testing
import TouchstoneCBOR

@testable import CTAP

extension TokenClient {
    func manage(_ number: Int, _ parameters: [Int: CBOR]? = nil, code: [UInt8]? = nil, command: UInt8 = 0x0A) -> [UInt8]
    {
        let map = parameters.map { CBOR.map(Dictionary(uniqueKeysWithValues: $0.map { (CBOR($0.key), $0.value) })) }
        return [command]
            + CBOR.entries([
                (1, CBOR(number)), (2, map), (3, CBOR(version.rawValue)),
                (4, .bytes(code ?? self.code([UInt8(number)] + (map?.encoded ?? [])))),
            ]).encoded
    }

    static func descriptor(_ id: [UInt8]) -> CBOR {
        .map([.text("id"): .bytes(id), .text("type"): .text("public-key")])
    }
}

private func hash(_ site: String) -> CBOR { .data(SHA256.hash(data: Data(site.utf8))) }

/// authenticatorCredentialManagement (FD-57, FD-58).
@Suite struct ManagementTests {
    private func bench() -> Bench {
        var bench = Bench()
        _ = bench.made("one.example", user: [1], name: "ada")
        _ = bench.made("one.example", user: [2], name: "bob")
        _ = bench.made("two.example", user: [3], name: "eve")
        _ = bench.made("hidden.example", user: [4], rk: false)
        return bench
    }

    @Test("FD-57: sites and their passkeys, with both protocols", arguments: [PINProtocol.one, .two])
    func lists(_ version: PINProtocol) throws {
        var bench = bench()
        var client = TokenClient(version)
        #expect(try client.get(4, site: nil, &bench) == 0)
        #expect(bench.wishes() == [.allow(.credentialManagement, site: nil, accounts: [])])
        #expect(bench.device.state.withLock { !$0.isHeld }, "nothing can be signed with it")
        // By the number of CTAP 2.1, and by the one before it.
        for command in [0x0A, 0x41] as [UInt8] {
            #expect(bench.answer(client.manage(1, command: command)).result == [CBOR(1): CBOR(3), CBOR(2): CBOR(996)])
        }

        let (status, first) = bench.answer(client.manage(2))
        #expect(status == 0)
        #expect(
            first == [
                CBOR(3): .map([.text("id"): .text("two.example")]), CBOR(4): hash("two.example"), CBOR(5): CBOR(2),
            ])
        let next = bench.answer([0x0A, 0xA1, 1, 3])
        #expect(next.result == [CBOR(3): .map([.text("id"): .text("one.example")]), CBOR(4): hash("one.example")])
        #expect(bench.answer([0x0A, 0xA1, 1, 3]).status == 0x30)

        let (found, bob) = bench.answer(client.manage(4, [1: hash("one.example")]))
        #expect(found == 0)
        #expect(bob[CBOR(6)] == .map([.text("id"): .bytes([2]), .text("name"): .text("bob")]))
        #expect(bob[CBOR(9)] == CBOR(2))
        #expect(bob[CBOR(10)] == CBOR(1))
        let stored = try #require(bench.device.state.withLock { $0.credentials.first { $0.userID == Data([2]) } })
        #expect(bob[CBOR(7)] == TokenClient.descriptor(Array(stored.id)))
        #expect(try COSEKey.point(#require(bob[CBOR(8)])) == Array(stored.publicKey))
        let (more, ada) = bench.answer([0x0A, 0xA1, 1, 5])
        #expect(more == 0)
        #expect(ada[CBOR(6)] == .map([.text("id"): .bytes([1]), .text("name"): .text("ada")]))
        #expect(ada[CBOR(9)] == nil)
        #expect(bench.answer([0x0A, 0xA1, 1, 5]).status == 0x30)
        #expect(bench.answer(client.manage(4, [1: hash("hidden.example")])).result.isEmpty)
        #expect(bench.wishes() == [])
    }

    @Test("FD-58: a passkey is renamed without a question, and removed after one that names it") func changes() throws {
        var bench = bench()
        var client = TokenClient()
        #expect(try client.get(4, site: nil, &bench) == 0)
        _ = bench.wishes()
        let id = bench.device.state.withLock { Array($0.credentials[0].id) }
        let user: [String: CBOR] = ["id": .bytes([1]), "name": .text("lovelace"), "displayName": .text("")]
        let renaming = client.manage(7, [2: TokenClient.descriptor(id), 3: Requests.names(user)])
        #expect(bench.answer(renaming).status == 0)
        #expect(bench.device.state.withLock { $0.credentials[0].userName } == "lovelace")
        #expect(bench.device.state.withLock { $0.credentials[0].displayName } == nil)
        #expect(bench.wishes() == [])
        let removal = client.manage(6, [2: TokenClient.descriptor(id)])
        bench.device.state.withLock { $0.refusal = .operationDenied }
        #expect(bench.answer(removal).status == 0x27)
        #expect(bench.device.state.withLock { $0.credentials.count } == 4)
        bench.device.state.withLock { $0.refusal = nil }
        #expect(bench.answer(removal).status == 0)
        #expect(bench.device.state.withLock { $0.credentials.count } == 3)
        #expect(
            bench.wishes() == [
                .delete(site: "one.example", account: "lovelace"), .delete(site: "one.example", account: "lovelace"),
            ])
        #expect(bench.answer(removal).status == 0x2E)
        #expect(bench.answer(renaming).status == 0x2E)
    }

    @Test("FD-57: what is missing or wrong changes nothing and asks nobody") func refused() throws {
        var bench = bench()
        var client = TokenClient()
        #expect(try client.get(4, site: nil, &bench) == 0)
        _ = bench.wishes()
        let (id, hidden) = bench.device.state.withLock { (Array($0.credentials[0].id), Array($0.credentials[3].id)) }
        let ada: CBOR = .map([.text("id"): .bytes([1])])
        for (request, status) in [
            ([0x0A, 0xA0], 0x14), ([0x0A, 0xA1, 1, 0], 0x3E), ([0x0A, 0xA1, 1, 8], 0x3E), ([0x0A, 0xA1, 1, 1], 0x36),
            ([0x0A, 0xA1, 1, 6], 0x36), ([0x0A, 0xA1, 1, 3], 0x30), ([0x0A, 0xA1, 1, 5], 0x30),
            ([0x0A, 0xA2, 1, 1, 4, 0x41, 1], 0x14), ([0x0A, 0xA3, 1, 1, 3, 3, 4, 0x41, 1], 0x02),
            ([0x0A, 0xA3, 1, 1, 3, 2, 4, 0x40], 0x33), ([0x0A, 0xA1, 1, 0x61, 0x61], 0x11), ([0x0A, 0x80], 0x11),
            (client.manage(1, code: client.code([2])), 0x33), (client.manage(4), 0x14), (client.manage(4, [:]), 0x14),
            (client.manage(4, [1: .bytes([1])]), 0x03), (client.manage(4, [1: hash("none.example")]), 0),
            (client.manage(6), 0x14), (client.manage(6, [2: TokenClient.descriptor([9])]), 0x2E),
            (client.manage(6, [2: TokenClient.descriptor(hidden)]), 0x2E), (client.manage(6, [2: .bytes(id)]), 0x11),
            (client.manage(7, [2: TokenClient.descriptor(id)]), 0x14),
            (client.manage(7, [2: TokenClient.descriptor(id), 3: .map([:])]), 0x14),
            (client.manage(7, [2: TokenClient.descriptor(id), 3: .map([.text("id"): .bytes([7])])]), 0x02),
            (client.manage(7, [2: TokenClient.descriptor([9]), 3: ada]), 0x2E),
        ] as [([UInt8], UInt8)] {
            let answer = bench.answer(request)
            // Nothing of a site is "no credentials", too.
            #expect(answer.status == (status == 0 ? 0x2E : status), "\(request)")
        }
        // The code is over these parameters, and no others.
        let swapped = client.manage(
            6, [2: TokenClient.descriptor(id)], code: client.code([6] + CBOR.map([:]).encoded))
        #expect(bench.answer(swapped).status == 0x33)
        #expect(bench.wishes() == [])
        #expect(bench.device.state.withLock { $0.credentials.count } == 4)
    }

    @Test("FD-56, FD-57: another token's permission, site and channel") func tokens() throws {
        var bench = bench()
        let ids = bench.device.state.withLock { $0.credentials.map { Array($0.id) } }
        var client = TokenClient()
        #expect(bench.answer(client.manage(1)).status == 0x33, "no token at all")
        #expect(try client.get(3, site: "one.example", &bench) == 0)
        #expect(bench.answer(client.manage(1)).status == 0x33)
        #expect(bench.answer(client.manage(4, [1: hash("one.example")])).status == 0x33)
        // For one site: it lists and changes nothing else.
        #expect(try client.get(4, site: "one.example", &bench) == 0)
        #expect(bench.answer(client.manage(1)).status == 0x33)
        #expect(bench.answer(client.manage(2)).status == 0x33)
        #expect(bench.answer(client.manage(4, [1: hash("two.example")])).status == 0x33)
        #expect(bench.answer(client.manage(6, [2: TokenClient.descriptor(ids[2])])).status == 0x33)
        #expect(bench.answer(client.manage(4, [1: hash("one.example")]), channel: 2).status == 0x33)
        #expect(bench.answer(client.manage(4, [1: hash("one.example")])).status == 0)
        // And it makes no passkey.
        #expect(bench.answer(client.make("one.example")).status == 0x33)
    }

    @Test("FD-57: what was begun ends with another command, another channel, its time and its token") func ended()
        throws
    {
        var bench = bench()
        var client = TokenClient()
        #expect(try client.get(4, site: nil, &bench) == 0)
        let next: [UInt8] = [0x0A, 0xA1, 1, 3]
        #expect(bench.answer(client.manage(2)).status == 0)
        #expect(bench.answer(next, channel: 2).status == 0x30)
        #expect(bench.answer(next).status == 0)
        #expect(bench.answer(client.manage(2)).status == 0)
        _ = bench.answer([4])
        #expect(bench.answer(next).status == 0x30)
        #expect(bench.answer(client.manage(2)).status == 0)
        #expect(bench.answer([0x0A, 0xA1, 1, 5]).status == 0x30)
        #expect(bench.answer(next).status == 0x30)
        #expect(bench.answer(client.manage(2)).status == 0)
        bench.now += 30
        #expect(bench.answer(next).status == 0x30)
        // The token began at 107 and is good until 707.
        bench.now = 704
        #expect(bench.answer(client.manage(2)).status == 0)
        bench.now += 3
        #expect(bench.answer(next).status == 0x30)
        #expect(bench.answer(client.manage(2)).status == 0x33)
    }

    @Test("FD-57: a thousand passkeys are listed one by one") func many() throws {
        var bench = bench()
        bench.device.state.withLock { state in
            var one = state.credentials[0]
            for number in 0..<996 {
                one.id = Data("\(number)".utf8)
                one.userName = String(repeating: "n", count: 1000)
                state.credentials.append(one)
            }
        }
        var client = TokenClient()
        #expect(try client.get(4, site: nil, &bench) == 0)
        #expect(bench.answer(client.manage(1)).result == [CBOR(1): CBOR(999), CBOR(2): CBOR(0)])
        #expect(bench.answer(client.manage(4, [1: hash("one.example")])).result[CBOR(9)] == CBOR(998))
        for _ in 0..<997 {
            bench.now -= 1
            #expect(bench.answer([0x0A, 0xA1, 1, 5]).status == 0)
        }
        #expect(bench.answer([0x0A, 0xA1, 1, 5]).status == 0x30)
    }
}
