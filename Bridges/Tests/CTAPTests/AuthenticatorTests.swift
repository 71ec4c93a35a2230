import Crypto
import Foundation
import Synchronization
import Testing
import TouchstoneCBOR

@testable import CTAP

/// Keeps credentials in memory, signs with keys of software, and answers as its owner is told to.
final class ScriptedDevice: CredentialDevice {
    struct State {
        var credentials: [Credential] = []
        var secrets: [Data: [UInt8]] = [:]
        /// Why the owner did not approve; nil: they do.
        var refusal: CTAPStatus?
        var wishes: [Wish] = []
        var signatures = 0
        var canVerify = true
        /// Whether a proof is kept.
        var isHeld = false
    }

    let state = Mutex(State())

    func credentials() throws(CTAPStatus) -> [Credential] { state.withLock { $0.credentials } }

    func ask(_ wish: Wish) throws(CTAPStatus) {
        let refusal = state.withLock { state in
            state.wishes.append(wish)
            return state.refusal
        }
        if let refusal { throw refusal }
    }

    func canVerify() throws(CTAPStatus) -> Bool { state.withLock { $0.canVerify } }

    func hold(_ wish: Wish) throws(CTAPStatus) {
        try ask(wish)
        state.withLock { $0.isHeld = true }
    }

    func release() { state.withLock { $0.isHeld = false } }

    private func judge(_ consent: Consent) throws(CTAPStatus) {
        guard case .ask(let wish) = consent else {
            let isHeld = state.withLock { state in
                defer { state.isHeld = false }
                return state.isHeld
            }
            guard isHeld else { throw .pinAuthInvalid }
            return
        }
        try ask(wish)
    }

    func makeKey(
        _ consent: Consent, _ message: @escaping @Sendable (Data) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> NewKey {
        try judge(consent)
        let key = P256.Signing.PrivateKey()
        let made = try message(key.publicKey.x963Representation)
        return NewKey(
            key: key.rawRepresentation, publicKey: key.publicKey.x963Representation, message: made,
            signature: sign(key, made))
    }

    func sign(
        _ consent: Consent, _ credentials: [Credential], withSecrets: Bool,
        _ message: @escaping @Sendable (Credential, [UInt8]?) throws(CTAPStatus) -> AuthenticatorMessage
    ) throws(CTAPStatus) -> [(message: AuthenticatorMessage, signature: [UInt8])] {
        try judge(consent)
        var results: [(message: AuthenticatorMessage, signature: [UInt8])] = []
        for credential in credentials {
            let made = try message(credential, withSecrets ? state.withLock { $0.secrets[credential.id] } : nil)
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: credential.key) else { throw .other }
            results.append((made, sign(key, made)))
        }
        return results
    }

    private func sign(_ key: P256.Signing.PrivateKey, _ message: AuthenticatorMessage) -> [UInt8] {
        state.withLock { $0.signatures += 1 }
        guard let signature = try? key.signature(for: Digest(message.digest)) else { return [] }
        return Array(signature.rawRepresentation)
    }

    func keep(_ credential: Credential, secret: [UInt8]?) throws(CTAPStatus) {
        state.withLock { state in
            state.credentials.append(credential)
            if let secret { state.secrets[credential.id] = secret }
        }
    }

    func update(_ credential: Credential) throws(CTAPStatus) {
        state.withLock { state in
            state.credentials = state.credentials.map { $0.id == credential.id ? credential : $0 }
        }
    }

    func remove(_ credential: Credential) throws(CTAPStatus) {
        state.withLock { state in state.credentials.removeAll { $0.id == credential.id } }
    }

    /// What the enclave signs: a digest, whatever the hash was.
    struct Digest: Crypto.Digest {
        static let byteCount = 32
        var bytes: [UInt8]
        init(_ bytes: [UInt8]) { self.bytes = bytes }
        func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            try bytes.withUnsafeBytes(body)
        }
        func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
        static func == (one: Digest, other: Digest) -> Bool { one.bytes == other.bytes }
        func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
        var description: String { "digest" }
    }
}

let clientDataHash = [UInt8](repeating: 7, count: 32)

/// Requests, changed by what a test wants.
enum Requests {
    static func make(
        site: String = "example.com", user: [UInt8] = [1, 2], name: String? = "ada", algorithm: Int = -7,
        options: [String: Bool] = [:],
        excluded: [[UInt8]]? = nil, extensions: [String: CBOR]? = nil, pin: [UInt8]? = nil, version: Int? = nil,
        without: Int? = nil
    ) -> [UInt8] {
        var fields: [CBOR: CBOR] = [
            CBOR(1): .bytes(clientDataHash), CBOR(2): .map([.text("id"): .text(site)]),
            CBOR(3): .names([("id", .bytes(user)), ("name", name.map(CBOR.text))]),
            CBOR(4): .array([.map([.text("alg"): CBOR(algorithm), .text("type"): .text("public-key")])]),
        ]
        fields[CBOR(5)] = excluded.map(list)
        fields[CBOR(6)] = extensions.map(names)
        if !options.isEmpty { fields[CBOR(7)] = names(options.mapValues(CBOR.boolean)) }
        fields[CBOR(8)] = pin.map(CBOR.bytes)
        fields[CBOR(9)] = version.map { CBOR($0) }
        if let without { fields[CBOR(without)] = nil }
        return [1] + CBOR.map(fields).encoded
    }

    static func get(
        site: String = "example.com", allowed: [[UInt8]]? = nil, options: [String: Bool] = [:],
        extensions: [String: CBOR]? = nil, pin: [UInt8]? = nil, version: Int? = nil, without: Int? = nil
    ) -> [UInt8] {
        var fields: [CBOR: CBOR] = [CBOR(1): .text(site), CBOR(2): .bytes(clientDataHash)]
        fields[CBOR(3)] = allowed.map(list)
        fields[CBOR(4)] = extensions.map(names)
        if !options.isEmpty { fields[CBOR(5)] = names(options.mapValues(CBOR.boolean)) }
        fields[CBOR(6)] = pin.map(CBOR.bytes)
        fields[CBOR(7)] = version.map { CBOR($0) }
        if let without { fields[CBOR(without)] = nil }
        return [2] + CBOR.map(fields).encoded
    }

    static func names(_ values: [String: CBOR]) -> CBOR {
        .map(Dictionary(uniqueKeysWithValues: values.map { (.text($0.key), $0.value) }))
    }

    static func list(_ ids: [[UInt8]]) -> CBOR {
        .array(ids.map { .map([.text("id"): .bytes($0), .text("type"): .text("public-key")]) })
    }
}

/// An authenticator, and what it answers.
struct Bench {
    let device = ScriptedDevice()
    var authenticator: Authenticator
    var now = 100.0

    init() { authenticator = Authenticator(device: device) }

    mutating func answer(_ request: [UInt8], channel: UInt32 = 1) -> (status: UInt8, result: [CBOR: CBOR]) {
        now += 1
        let now = now
        let answer = authenticator.answer(request, channel: channel, date: Date(timeIntervalSince1970: now)) { now }
        guard case .map(let map)? = try? CBOR(Array(answer.dropFirst())) else { return (answer[0], [:]) }
        return (answer[0], map)
    }

    mutating func wishes() -> [Wish] {
        device.state.withLock { state in
            defer { state.wishes = [] }
            return state.wishes
        }
    }

    /// Makes a passkey, and gives its id.
    mutating func made(_ site: String = "example.com", user: [UInt8] = [1, 2], name: String? = "ada", rk: Bool = true)
        -> [UInt8]
    {
        let (status, result) = answer(Requests.make(site: site, user: user, name: name, options: ["rk": rk]))
        #expect(status == 0)
        _ = wishes()
        guard case .bytes(let data)? = result[CBOR(2)] else { return [] }
        return Array(data[55..<87])
    }

    var key: P256.Signing.PublicKey {
        get throws {
            try P256.Signing.PublicKey(
                x963Representation: #require(device.state.withLock { $0.credentials.last }?.publicKey))
        }
    }

    /// Whether the assertion verifies, as a site checks it.
    func verifies(_ result: [CBOR: CBOR], by key: P256.Signing.PublicKey) throws -> Bool {
        guard case .bytes(let data)? = result[CBOR(2)], case .bytes(let signature)? = result[CBOR(3)] else {
            return false
        }
        return key.isValidSignature(
            try P256.Signing.ECDSASignature(derRepresentation: signature), for: Data(data + clientDataHash))
    }
}

func flags(_ result: [CBOR: CBOR]) -> UInt8? {
    guard case .bytes(let data)? = result[CBOR(2)], data.count >= 37 else { return nil }
    return data[32]
}

@Suite struct AuthenticatorTests {
    @Test("FD-11: what it says of itself") func info() {
        var bench = Bench()
        let (status, result) = bench.answer([4])
        #expect(status == 0)
        #expect(result[CBOR(1)] == .array([.text("FIDO_2_0"), .text("FIDO_2_1")]))
        #expect(
            result[CBOR(4)]
                == .map([
                    .text("alwaysUv"): .boolean(true), .text("credMgmt"): .boolean(true),
                    .text("pinUvAuthToken"): .boolean(true),
                    .text("plat"): .boolean(false), .text("rk"): .boolean(true), .text("up"): .boolean(true),
                    .text("uv"): .boolean(true),
                ]))
        #expect(result[CBOR(5)] == CBOR(1800))
        guard case .bytes(let identifier)? = result[CBOR(3)] else { Issue.record("no AAGUID"); return }
        #expect(identifier.count == 16)
        #expect(bench.answer([4, 0]).status == 0x03)
        #expect(bench.wishes() == [])
    }

    @Test("FD-13, FD-30: a passkey is made, and its attestation verifies") func make() throws {
        var bench = Bench()
        let (status, result) = bench.answer(Requests.make(options: ["rk": true, "uv": true]))
        #expect(status == 0)
        #expect(result[CBOR(1)] == .text("packed"))
        guard case .bytes(let data)? = result[CBOR(2)], case .map(let statement)? = result[CBOR(3)],
            case .bytes(let signature)? = statement[.text("sig")]
        else { Issue.record("\(result)"); return }
        #expect(Array(data[..<32]) == Array(SHA256.hash(data: Data("example.com".utf8))))
        // Present, verified, with a credential; never BE (0x08) or BS (0x10), and the counter is 0.
        #expect(Array(data[32..<37]) == [0x45, 0, 0, 0, 0])
        #expect(Array(data[37..<53]) == Authenticator.identifier)
        #expect(Array(data[53..<55]) == [0, 32])
        let point = try Array(bench.key.x963Representation)
        var key: [UInt8] = [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]
        key += point[1..<33]
        key += [0x22, 0x58, 32] as [UInt8]
        key += point[33...]
        #expect(Array(data[87...]) == key)
        #expect(statement[.text("alg")] == CBOR(-7))
        #expect(try bench.key.isValidSignature(.init(derRepresentation: signature), for: Data(data + clientDataHash)))
        #expect(bench.wishes() == [.create(site: "example.com", account: "ada", replaces: false)])
    }

    @Test("FD-13: the same account has one passkey, also after a second one") func replace() {
        var bench = Bench()
        let first = bench.made()
        let other = bench.made(user: [9])
        _ = bench.answer(Requests.make(options: ["rk": true]))
        #expect(bench.wishes() == [.create(site: "example.com", account: "ada", replaces: true)])
        let ids = bench.device.state.withLock { $0.credentials.map { Array($0.id) } }
        #expect(ids.count == 2 && ids.contains(other) && !ids.contains(first))
        // One that is found by its id alone takes nobody's place.
        _ = bench.answer(Requests.make())
        #expect(bench.device.state.withLock { $0.credentials.count } == 3)
    }

    @Test("FD-13: one of the list is here already: the owner is asked, and nothing made") func excluded() {
        var bench = Bench()
        let id = bench.made()
        #expect(bench.answer(Requests.make(excluded: [[1], id])).status == 0x19)
        #expect(bench.wishes() == [.alreadyHere(site: "example.com")])
        // Of another site it is another one.
        #expect(bench.answer(Requests.make(site: "other.example", excluded: [id])).status == 0)
        bench.device.state.withLock { $0.refusal = .operationDenied }
        #expect(bench.answer(Requests.make(excluded: [id])).status == 0x27)
        #expect(bench.device.state.withLock { $0.credentials.count } == 2)
    }

    @Test(
        "FD-9: what is missing, of another type, or not offered",
        arguments: [
            (Requests.make(without: 1), 0x14), (Requests.make(without: 2), 0x14), (Requests.make(without: 3), 0x14),
            (Requests.make(without: 4), 0x14), (Requests.make(algorithm: -257), 0x26), (Requests.make(site: ""), 0x03),
            (Requests.make(site: String(repeating: "a", count: 254)), 0x03),
            (Requests.make(user: [UInt8](repeating: 0, count: 65)), 0x03),
            (Requests.make(excluded: [[UInt8]](repeating: [1], count: 17)), 0x15),
            (Requests.make(options: ["up": false]), 0x2C), (Requests.make(extensions: ["credProtect": CBOR(4)]), 0x2C),
            (Requests.make(extensions: ["credProtect": .text("3")]), 0x11), (Requests.make(pin: [1]), 0x14),
            (Requests.make(pin: [1], version: 3), 0x02), (Requests.make(pin: [1], version: 2), 0x33),
            (Requests.get(without: 1), 0x14), (Requests.get(without: 2), 0x14),
            (Requests.get(options: ["rk": true]), 0x2B),
            (Requests.get(options: ["up": false, "uv": true]), 0x2E), (Requests.get(pin: [1]), 0x14),
            (Requests.get(pin: [1], version: 0), 0x02), (Requests.get(pin: [1], version: 1), 0x33),
            (Requests.get(), 0x2E),
            ([1], 0x12), ([1, 0xA0], 0x14), ([1, 0x80], 0x11), ([2, 0xFF], 0x12), ([], 0x03), ([7], 0x30), ([8], 0x30),
            ([8, 0], 0x03),
            ([0x03], 0x01), ([0x09], 0x01), ([0x0D], 0x01), ([0x40], 0x01), ([0xFF], 0x01),
            ([6, 0xA2, 1, 2, 2, 1], 0x3E), ([6, 0xA2, 1, 2, 2, 5], 0x3E), ([6, 0xA2, 1, 2, 2, 9], 0x3E),
            ([6, 0xA1, 2, 2], 0x14), ([6, 0xA2, 1, 3, 2, 2], 0x02), ([6, 0xA2, 1, 2, 2, 6], 0x14), ([6, 0xA0], 0x14),
        ] as [([UInt8], UInt8)])
    func refused(_ request: [UInt8], _ status: UInt8) {
        var bench = Bench()
        #expect(bench.answer(request).status == status)
        #expect(bench.wishes() == [], "nobody is asked for what cannot be")
    }

    @Test("FD-9: options and extensions that nobody knows are ignored") func unknown() {
        var bench = Bench()
        let status = bench.answer(
            Requests.make(
                options: ["rk": true, "odd": true], extensions: ["odd": .boolean(true), "minPinLength": .boolean(true)])
        )
        .status
        #expect(status == 0)
    }

    @Test("FD-10: the thousandth passkey is the last") func full() {
        var bench = Bench()
        let id = bench.made()
        bench.device.state.withLock { state in
            var one = state.credentials[0]
            for number in 0..<999 {
                one.id = Data("\(number)".utf8)
                one.userID = Data("user \(number)".utf8)
                state.credentials.append(one)
            }
        }
        #expect(bench.answer(Requests.make(user: [77], options: ["rk": true])).status == 0x28)
        // One that takes another's place has room.
        #expect(bench.answer(Requests.make(options: ["rk": true])).status == 0)
        #expect(bench.answer(Requests.get(allowed: [id])).status == 0x2E)
    }

    @Test("FD-14: the first of the list that is here signs") func allowed() throws {
        var bench = Bench()
        let (first, second) = (bench.made(user: [1], rk: false), bench.made(user: [2], rk: false))
        let (status, result) = bench.answer(Requests.get(allowed: [[1, 2, 3], second, first]))
        #expect(status == 0)
        #expect(result[CBOR(1)] == .map([.text("id"): .bytes(second), .text("type"): .text("public-key")]))
        #expect(flags(result) == 0x05)
        #expect(try bench.verifies(result, by: bench.key))
        #expect(result[CBOR(4)] == nil && result[CBOR(5)] == nil)
        #expect(bench.wishes() == [.signIn(site: "example.com", accounts: ["ada"])])
        #expect(bench.answer(Requests.get(site: "other.example", allowed: [second])).status == 0x2E)
        // One that is not discoverable is not found without its id.
        #expect(bench.answer(Requests.get()).status == 0x2E)
        #expect(bench.answer(Requests.get(allowed: [])).status == 0x2E)
    }

    @Test("FD-14, FD-34: several accounts, the newest first, with one judgement") func several() throws {
        var bench = Bench()
        _ = bench.made(user: [1], name: "ada")
        let newest = bench.made(user: [2], name: "bob")
        _ = bench.made("other.example", user: [3], name: "eve")
        let (status, result) = bench.answer(Requests.get())
        #expect(status == 0)
        #expect(result[CBOR(5)] == CBOR(2))
        #expect(result[CBOR(1)] == .map([.text("id"): .bytes(newest), .text("type"): .text("public-key")]))
        #expect(result[CBOR(4)] == .map([.text("id"): .bytes([2]), .text("name"): .text("bob")]))
        // Not for another channel, and only as many as there are.
        #expect(bench.answer([8], channel: 2).status == 0x30)
        let (next, second) = bench.answer([8])
        #expect(next == 0)
        #expect(second[CBOR(4)] == .map([.text("id"): .bytes([1]), .text("name"): .text("ada")]))
        #expect(second[CBOR(5)] == nil && flags(second) == 0x05)
        #expect(bench.answer([8]).status == 0x30)
        #expect(bench.wishes() == [.signIn(site: "example.com", accounts: ["bob", "ada"])])
        // 30 seconds, and nothing between.
        _ = bench.answer(Requests.get())
        bench.now += 30
        #expect(bench.answer([8]).status == 0x30)
        _ = bench.answer(Requests.get())
        _ = bench.answer([4])
        #expect(bench.answer([8]).status == 0x30)
    }

    @Test("FD-32: a silent look finds it, and verifies nothing") func silent() throws {
        var bench = Bench()
        let id = bench.made()
        let signatures = bench.device.state.withLock { $0.signatures }
        let (status, result) = bench.answer(Requests.get(allowed: [id], options: ["up": false]))
        #expect(status == 0)
        #expect(result[CBOR(1)] == .map([.text("id"): .bytes(id), .text("type"): .text("public-key")]))
        #expect(flags(result) == 0)
        #expect(try !bench.verifies(result, by: bench.key))
        #expect(bench.device.state.withLock { $0.signatures } == signatures, "its key signed nothing")
        #expect(bench.wishes() == [])
        // What somebody does not know already they do not learn.
        #expect(bench.answer(Requests.get(allowed: [[5]], options: ["up": false])).status == 0x2E)
        #expect(bench.answer(Requests.get(options: ["up": false])).status == 0x2E)
    }

    @Test("FD-32: who wants the owner verified has the owner asked, present or not") func verifiedLook() throws {
        var bench = Bench()
        let id = bench.made()
        _ = bench.wishes()
        let (status, result) = bench.answer(Requests.get(allowed: [id], options: ["up": false, "uv": true]))
        #expect(status == 0)
        #expect(flags(result) == 0x05)
        #expect(try bench.verifies(result, by: bench.key))
        #expect(bench.wishes().count == 1)
    }

    @Test("FD-16: a device is chosen, and nothing kept", arguments: ["make.me.blink", ".dummy"]) func probe(
        _ site: String
    ) {
        var bench = Bench()
        #expect(bench.answer(Requests.make(site: site)).status == 0)
        #expect(bench.wishes() == [.choose])
        #expect(bench.answer(Requests.make(site: site, pin: [])).status == 0x35)
        #expect(bench.answer(Requests.get(site: site, pin: [])).status == 0x35)
        #expect(bench.answer([0x0B]).status == 0)
        #expect(bench.wishes() == [.choose, .choose, .choose])
        #expect(bench.device.state.withLock { $0.credentials.isEmpty })
    }

    /// FD-42's rows of options, and its columns of what the owner does.
    static let table: [(up: Bool?, uv: Bool?)] = [nil, true].flatMap { up in [nil, true, false].map { (up, $0) } }
    static let refusals: [CTAPStatus?] = [
        nil, .operationDenied, .userActionTimeout, .keepAliveCancel, .keyStoreFull, .other,
    ]

    @Test("FD-30, FD-33, FD-42: verified means judged for this request, whatever was asked", arguments: table, refusals)
    func judged(_ options: (up: Bool?, uv: Bool?), _ refusal: CTAPStatus?) throws {
        var bench = Bench()
        let id = bench.made()
        let wanted = ["up": options.up, "uv": options.uv].compactMapValues { $0 }
        bench.device.state.withLock { $0.refusal = refusal }
        let made = bench.answer(Requests.make(user: [5], options: wanted.merging(["rk": true]) { $1 }))
        let got = bench.answer(Requests.get(allowed: [id], options: wanted))
        #expect(bench.wishes().count == 2)
        guard let refusal else {
            #expect(made.status == 0 && flags(made.result) == 0x45)
            #expect(got.status == 0 && flags(got.result) == 0x05)
            return
        }
        #expect(made.status == refusal.rawValue && got.status == refusal.rawValue)
        #expect(made.result.isEmpty && got.result.isEmpty)
        #expect(bench.device.state.withLock { $0.signatures } == 1)
        #expect(bench.device.state.withLock { $0.credentials.count } == 1)
    }

    @Test("FD-14: credProtect is answered as it was asked", arguments: 1...3) func protection(_ level: Int) {
        var bench = Bench()
        let (status, result) = bench.answer(
            Requests.make(options: ["rk": true], extensions: ["credProtect": CBOR(level)]))
        #expect(status == 0)
        guard case .bytes(let data)? = result[CBOR(2)] else { Issue.record("\(result)"); return }
        #expect(data[32] == 0xC5)
        let expected: [UInt8] = [0xA1, 0x6B] + Array("credProtect".utf8) + [UInt8(level)]
        #expect(Array(data[164...]) == expected)
        // The owner is verified, so no level hides it; only a look without the owner does not find the third.
        #expect(bench.answer(Requests.get()).status == 0)
        let id = Array(data[55..<87])
        let look = bench.answer(Requests.get(allowed: [id], options: ["up": false])).status
        #expect(look == (level == 3 ? 0x2E : 0))
    }
}
