import Crypto
import Foundation
import P11RPC
import P11Token
import Testing

@Suite("PK-10, PK-13: slots, sessions and logins")
struct SessionTests {
    @Test("nothing is answered before C_Initialize, and the second one is refused")
    func initialize() throws {
        var token = Token()
        let device = OwnersDevice()
        #expect(token.answer(.getInfo, device).code == .cryptokiNotInitialized)
        #expect(token.answer(.initialize, device) == .done([]))
        #expect(token.answer(.initialize, device).code == .cryptokiAlreadyInitialized)
        #expect(token.answer(.getInfo, device).values != nil)
        #expect(token.answer(.finalize, device) == .done([]))
        #expect(token.answer(.getInfo, device).code == .cryptokiNotInitialized)
    }

    @Test("one slot, whose token wants no login")
    func slot() throws {
        var client = try OpenToken()
        #expect(client.ask(.getSlotList(room: 0)) == .done([.countOfNumbers(1)]))
        #expect(client.ask(.getSlotList(room: 4)) == .done([.numbers([0])]))
        #expect(client.ask(.getTokenInfo(slot: 1)).code == .slotIDInvalid)
        let info = client.ask(.getTokenInfo(slot: 0)).values ?? []
        #expect(info[3] == .text("0123456789abcdef", 16))
        #expect(info[4] == .number(0x508))
    }

    @Test("a connection has 64 sessions, and no more")
    func most() throws {
        var client = try OpenToken()
        for _ in 1..<64 { #expect(client.ask(.openSession(slot: 0, flags: 4)).number != nil) }
        #expect(client.ask(.openSession(slot: 0, flags: 4)).code == .sessionCount)
        #expect(client.ask(.closeSession(client.session)) == .done([]))
        #expect(client.ask(.openSession(slot: 0, flags: 4)).number != nil)
        #expect(client.ask(.openSession(slot: 0, flags: 0)).code == .sessionParallelNotSupported)
    }

    @Test("a session that is closed, or of nobody, is refused")
    func closed() throws {
        var client = try OpenToken()
        #expect(client.ask(.closeSession(client.session)) == .done([]))
        #expect(client.ask(.closeSession(client.session)).code == .sessionHandleInvalid)
        #expect(client.ask(.getSessionInfo(99)).code == .sessionHandleInvalid)
        #expect(client.ask(.findInit(session: 99, [])).code == .sessionHandleInvalid)
    }

    @Test("a login is right and means nothing; the security officer has none")
    func login() throws {
        var client = try OpenToken()
        #expect(client.ask(.login(session: client.session, user: 0)).code == .functionNotSupported)
        #expect(client.ask(.login(session: client.session, user: 1)) == .done([]))
        #expect(client.ask(.login(session: client.session, user: 1)).code == .userAlreadyLoggedIn)
        #expect(client.ask(.getSessionInfo(client.session)).values?[1] == .number(3))
        #expect(client.ask(.logout(session: client.session)) == .done([]))
        #expect(client.ask(.logout(session: client.session)).code == .userNotLoggedIn)
        #expect(client.ask(.login(session: client.session, user: 2)).code == .operationNotInitialized)
    }

    @Test("a device that does not answer is a device error (PK-16)")
    func away() throws {
        var client = try OpenToken()
        client.device.trouble = .away
        #expect(client.ask(.getTokenInfo(slot: 0)).code == .deviceError)
        #expect(client.ask(.findInit(session: client.session, [])).code == .deviceError)
        client.device.trouble = nil
        #expect(client.ask(.getTokenInfo(slot: 0)).values != nil)
    }
}

@Suite("PK-11, PK-15: objects")
struct ObjectTests {
    @Test("the objects of a key have its ID, and are found by template")
    func find() throws {
        var client = try OpenToken(keys: 2)
        let key = client.device.all[1]
        #expect(client.find([]).count == 4)
        #expect(client.find([Attribute(.label, .bytes(Array("key 2".utf8)))]).count == 2)
        #expect(client.find([Attribute(.identifier, .bytes(key.identifier))]).count == 2)
        let both = [Attribute(.objectClass, .number(3)), Attribute(.identifier, .bytes(key.identifier))]
        #expect(client.find(both).count == 1)
        #expect(client.find([Attribute(.token, .flag(false))]).isEmpty)
        // No guess at a secret is ever right, nor is an attribute without a value.
        #expect(client.find([Attribute(.objectClass, .number(3)), Attribute(.value, .bytes([]))]).isEmpty)
        #expect(client.find([Attribute(.value, nil)]).isEmpty)
    }

    @Test("a search gives what fits, and then the rest; a second one at once is refused")
    func parts() throws {
        var client = try OpenToken(keys: 3)
        #expect(client.ask(.find(session: client.session, most: 2)).code == .operationNotInitialized)
        #expect(client.ask(.findInit(session: client.session, [])) == .done([]))
        #expect(client.ask(.findInit(session: client.session, [])).code == .operationActive)
        #expect(client.ask(.find(session: client.session, most: 4)).numbers?.count == 4)
        #expect(client.ask(.find(session: client.session, most: 4)).numbers?.count == 2)
        #expect(client.ask(.find(session: client.session, most: 4)).numbers == [])
        #expect(client.ask(.findFinal(session: client.session)) == .done([]))
        #expect(client.ask(.findFinal(session: client.session)).code == .operationNotInitialized)
    }

    @Test("a private key says what clients look at, and never its value")
    func privateKey() throws {
        var client = try OpenToken()
        let handle = client.privateKey
        let (values, code) = client.attributes(
            handle, [(.sign, 1), (.sensitive, 1), (.extractable, 1), (.isPrivate, 1), (.alwaysAuthenticate, 1)])
        #expect(values == [.flag(true), .flag(true), .flag(false), .flag(false), .flag(false)])
        #expect(code == .ok)
        let point = client.attributes(handle, [(.ecPoint, 100)]).0
        #expect(point == [.bytes([0x04, 0x41] + client.device.all[0].point)])
        let secret = client.attributes(handle, [(.value, 100), (.sign, 1)])
        #expect(secret.0 == [nil, .flag(true)])
        #expect(secret.1 == .attributeSensitive)
        #expect(client.attributes(handle, [(.certificateType, 8)]).1 == .attributeTypeInvalid)
    }

    @Test("room that is too small is said, and the length where there is none")
    func room() throws {
        var client = try OpenToken()
        let handle = client.privateKey
        #expect(client.attributes(handle, [(.ecPoint, 66)]) == ([nil], .bufferTooSmall))
        #expect(client.attributes(handle, [(.ecPoint, 0)]).1 == .ok)
        #expect(client.attributes(handle, [(.ecPoint, 67)]).1 == .ok)
    }

    @Test("a handle of nobody, and of a key that was removed, is refused")
    func gone() throws {
        var client = try OpenToken()
        let handle = client.privateKey
        #expect(client.attributes(99, [(.sign, 1)]).1 == .objectHandleInvalid)
        client.device.all = []
        #expect(client.attributes(handle, [(.sign, 1)]).1 == .objectHandleInvalid)
        #expect(client.ask(.signInit(session: client.session, .ecdsa, key: handle)).code == .keyHandleInvalid)
    }

    @Test("a certificate is an object beside its key, with the parts that clients look at")
    func certificate() throws {
        var client = try OpenToken()
        let der = Array(try #require(Data(base64Encoded: Samples.certificate)))
        let certificate = try #require(TokenCertificate(der: der))
        client.device.all[0].certificate = certificate
        let found = client.find([Attribute(.objectClass, .number(1))])
        #expect(found.count == 1)
        let (values, code) = client.attributes(
            found[0], [(.value, 2000), (.subject, 200), (.issuer, 200), (.serialNumber, 40), (.identifier, 20)])
        #expect(code == .ok)
        #expect(values[0] == .bytes(der))
        #expect(values[1] == .bytes(certificate.subject))
        #expect(certificate.subject == certificate.issuer && certificate.subject.first == 0x30)
        #expect(certificate.serialNumber.first == 0x02)
        #expect(certificate.point?.count == 65)
        #expect(values[4] == .bytes(client.device.all[0].identifier))
    }

    @Test("what is not a certificate is refused", arguments: [0, 1, 40, 100])
    func noCertificate(_ count: Int) throws {
        let der = Array(try #require(Data(base64Encoded: Samples.certificate)))
        #expect(TokenCertificate(der: Array(der.prefix(count))) == nil)
        #expect(TokenCertificate(der: der + [0]) == nil)
        #expect(TokenCertificate(der: Array(repeating: 0x30, count: 32 << 10 + 1)) == nil)
    }
}

@Suite("PK-14…16: signatures and new keys")
struct SignatureTests {
    @Test("a digest of any length is signed as ECDSA says", arguments: [1, 20, 31, 32, 33, 48, 64])
    func digests(_ count: Int) throws {
        var client = try OpenToken()
        let data = (0..<count).map { UInt8($0 + 1) }
        let handle = client.privateKey
        #expect(client.ask(.signInit(session: client.session, .ecdsa, key: handle)) == .done([]))
        let signature = try #require(client.ask(.sign(session: client.session, data: data, room: 64)).bytes)
        let digest = count < 32 ? Array(repeating: 0, count: 32 - count) + data : Array(data.prefix(32))
        #expect(client.device.digests == [digest])
        let key = try #require(client.device.keysOfPoints.values.first).publicKey
        #expect(key.isValidSignature(try .init(rawRepresentation: signature), for: Given(digest)))
        // The operation is over.
        #expect(client.ask(.sign(session: client.session, data: data, room: 64)).code == .operationNotInitialized)
    }

    @Test("nothing, and more than a digest, is refused without asking", arguments: [0, 65, 4096])
    func lengths(_ count: Int) throws {
        var client = try OpenToken()
        let handle = client.privateKey
        _ = client.ask(.signInit(session: client.session, .ecdsa, key: handle))
        let data = Array(repeating: UInt8(1), count: count)
        #expect(client.ask(.sign(session: client.session, data: data, room: 64)).code == .dataLengthRange)
        #expect(client.device.digests.isEmpty)
    }

    @Test("who asks for the length is told it, and nobody is asked", arguments: [0, 63])
    func length(_ room: Int) throws {
        var client = try OpenToken()
        let handle = client.privateKey
        _ = client.ask(.signInit(session: client.session, .ecdsa, key: handle))
        let data = Array(repeating: UInt8(1), count: 32)
        #expect(client.ask(.sign(session: client.session, data: data, room: room)) == .done([.countOfBytes(64)]))
        #expect(client.device.digests.isEmpty)
        #expect(client.ask(.sign(session: client.session, data: data, room: 64)).bytes?.count == 64)
    }

    @Test("ECDSA with SHA-256 hashes what comes, at once or in parts; plain ECDSA takes no parts")
    func hashes() throws {
        var client = try OpenToken()
        let handle = client.privateKey
        let digest = Array(SHA256.hash(data: Data("abc".utf8)))
        _ = client.ask(.signInit(session: client.session, .ecdsaSHA256, key: handle))
        #expect(client.ask(.sign(session: client.session, data: Array("abc".utf8), room: 64)).bytes != nil)
        _ = client.ask(.signInit(session: client.session, .ecdsaSHA256, key: handle))
        #expect(client.ask(.signUpdate(session: client.session, data: Array("a".utf8))) == .done([]))
        #expect(client.ask(.sign(session: client.session, data: [], room: 64)).code == .operationNotInitialized)
        #expect(client.ask(.signUpdate(session: client.session, data: Array("bc".utf8))) == .done([]))
        #expect(client.ask(.signFinal(session: client.session, room: 64)).bytes != nil)
        #expect(client.device.digests == [digest, digest])
        _ = client.ask(.signInit(session: client.session, .ecdsa, key: handle))
        #expect(client.ask(.signUpdate(session: client.session, data: [1])).code == .functionNotSupported)
    }

    @Test("mechanisms, keys and operations that cannot be are refused")
    func refused() throws {
        var client = try OpenToken()
        let handle = client.privateKey
        let publicKey = client.find([Attribute(.objectClass, .number(2))])[0]
        #expect(client.ask(.signInit(session: client.session, .other(1), key: handle)).code == .mechanismInvalid)
        #expect(
            client.ask(.signInit(session: client.session, .ecKeyPairGeneration, key: handle)).code == .mechanismInvalid)
        #expect(
            client.ask(.signInit(session: client.session, .ecdsa, key: publicKey)).code == .keyFunctionNotPermitted)
        #expect(client.ask(.signInit(session: client.session, .ecdsa, key: handle)) == .done([]))
        #expect(client.ask(.signInit(session: client.session, .ecdsa, key: handle)).code == .operationActive)
        #expect(client.ask(.signInit(session: client.session, .none, key: 0)) == .done([]))
        #expect(client.ask(.signInit(session: client.session, .ecdsa, key: handle)) == .done([]))
        #expect(client.ask(.sessionCancel(session: client.session)) == .done([]))
        #expect(client.ask(.sign(session: client.session, data: [1], room: 64)).code == .operationNotInitialized)
    }

    @Test(
        "what went wrong has its own return value",
        arguments: [
            (TokenFailure.cancelled, ReturnValue(rawValue: 0x50)), (.denied, ReturnValue(rawValue: 0x6)),
            (.locked, ReturnValue(rawValue: 0x101)), (.unavailable, ReturnValue(rawValue: 0x6)),
            (.dead, ReturnValue(rawValue: 0x68)), (.away, ReturnValue(rawValue: 0x30)),
        ])
    func failures(_ failure: TokenFailure, _ code: ReturnValue) throws {
        var client = try OpenToken()
        let handle = client.privateKey
        client.device.failure = failure
        _ = client.ask(.signInit(session: client.session, .ecdsa, key: handle))
        let data = Array(repeating: UInt8(1), count: 32)
        #expect(client.ask(.sign(session: client.session, data: data, room: 64)).code == code)
    }

    @Test("a key with an explicit login wants one for each use (PK-12)")
    func explicitLogin() throws {
        var client = try OpenToken()
        client.device.all[0].wantsExplicitLogin = true
        let handle = client.privateKey
        #expect(client.attributes(handle, [(.alwaysAuthenticate, 1)]).0 == [.flag(true)])
        let data = Array(repeating: UInt8(1), count: 32)
        for isLoggedIn in [false, true, false] {
            _ = client.ask(.signInit(session: client.session, .ecdsa, key: handle))
            if isLoggedIn { #expect(client.ask(.login(session: client.session, user: 2)) == .done([])) }
            let answer = client.ask(.sign(session: client.session, data: data, room: 64))
            #expect(isLoggedIn ? answer.bytes != nil : answer.code == .userNotLoggedIn)
        }
    }

    private let curve: [UInt8] = [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]

    @Test("a client has a key made, which is found by its label and ID")
    func makeKey() throws {
        var client = try OpenToken(keys: 0)
        let answer = client.ask(
            .generateKeyPair(
                session: client.session, .ecKeyPairGeneration, publicKey: [Attribute(.ecParameters, .bytes(curve))],
                privateKey: [
                    Attribute(.token, .flag(true)), Attribute(.isPrivate, .flag(true)),
                    Attribute(.label, .bytes(Array("new".utf8))), Attribute(.identifier, .bytes([1])),
                ]))
        #expect(answer.values?.count == 2)
        #expect(answer.values?.last == .number(client.privateKey))
        #expect(
            client.find([Attribute(.label, .bytes(Array("new".utf8))), Attribute(.identifier, .bytes([1]))]).count == 2)
    }

    @Test("keys that the enclave cannot have are refused, and none is made")
    func noKey() throws {
        var client = try OpenToken(keys: 0)
        let token = Attribute(.token, .flag(true))
        func code(
            _ publicKey: [Attribute], _ privateKey: [Attribute], _ session: UInt64? = nil,
            _ mechanism: Mechanism = .ecKeyPairGeneration
        ) -> ReturnValue? {
            client.ask(
                .generateKeyPair(
                    session: session ?? client.session, mechanism, publicKey: publicKey, privateKey: privateKey)
            ).code
        }
        let readOnly = client.ask(.openSession(slot: 0, flags: 4)).number
        let p256 = [Attribute(.ecParameters, .bytes(curve))]
        #expect(code([], [token]) == .templateIncomplete)
        #expect(
            code([Attribute(.ecParameters, .bytes([6, 5, 0x2B, 0x81, 4, 0, 0x22]))], [token]) == .curveNotSupported)
        #expect(code(p256, []) == .templateInconsistent)
        #expect(code(p256, [Attribute(.token, .flag(false))]) == .templateInconsistent)
        #expect(code(p256, [token, Attribute(.extractable, .flag(true))]) == .templateInconsistent)
        #expect(code(p256, [token, Attribute(.sensitive, .flag(false))]) == .templateInconsistent)
        let long = Array(repeating: UInt8(65), count: 65)
        #expect(code(p256, [token, Attribute(.identifier, .bytes(long))]) == .attributeValueInvalid)
        #expect(code(p256, [token, Attribute(.label, .bytes(long))]) == .attributeValueInvalid)
        #expect(code(p256, [token, Attribute(.label, .bytes([0xFF]))]) == .attributeValueInvalid)
        #expect(code(p256, [token], readOnly) == .sessionReadOnly)
        #expect(code(p256, [token], nil, .other(0)) == .mechanismInvalid)
        client.device.trouble = .full
        #expect(code(p256, [token]) == .deviceMemory)
        client.device.trouble = .taken
        #expect(code(p256, [token]) == .attributeValueInvalid)
        #expect(client.device.all.isEmpty)
    }
}
