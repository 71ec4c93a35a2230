import SSHAgentProtocol
import Testing

@Suite struct SignaturePurposeTests {
    let here = Server(), there = Server()
    let one = Array(repeating: UInt8(1), count: 64), two = Array(repeating: UInt8(2), count: 64)

    @Test("SA-13: a login, in both methods") func logins() throws {
        #expect(SignaturePurpose(data: login(one), key: userKey) == .login(sessionID: one, user: "git", hostKey: nil))
        let host = try #require(HostKey(blob: here.blob))
        #expect(
            SignaturePurpose(data: login(one, host: here.blob), key: userKey)
                == .login(sessionID: one, user: "git", hostKey: host))
    }

    @Test("SA-13: what is almost a login is unknown data") func almost() {
        let other = P256Key.blob(point: [4] + Array(repeating: 9, count: 64))!
        for data in [
            login(one) + [0], Array(login(one).dropLast()), login(one, key: other), login(one, algorithm: "ssh-rsa"),
            login([]), login(Array(repeating: 1, count: 129)), login(one, host: Array("no key".utf8)),
        ] {
            #expect(SignaturePurpose(data: data, key: userKey) == .unknown)
        }
    }

    @Test("SA-14: a login is the one of the last binding, or refused") func bound() throws {
        let bindings = Bound()
        let mine = SignaturePurpose(data: login(one), key: userKey)
        #expect(mine.isFor(bindings.bindings) == nil)
        #expect(bindings.bind(try here.binding(one)))
        #expect(mine.isFor(bindings.bindings) == true)
        #expect(SignaturePurpose(data: login(one, host: here.blob), key: userKey).isFor(bindings.bindings) == true)
        #expect(SignaturePurpose(data: login(two), key: userKey).isFor(bindings.bindings) == false)
        #expect(SignaturePurpose(data: login(one, host: there.blob), key: userKey).isFor(bindings.bindings) == false)
    }

    @Test("SA-14: behind another host the login names its host") func hop() throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(one, forwarding: true)))
        // Bound for forwarding alone: no login belongs to it.
        #expect(SignaturePurpose(data: login(one), key: userKey).isFor(bindings.bindings) == false)
        #expect(bindings.bind(try there.binding(two)))
        #expect(SignaturePurpose(data: login(two, host: there.blob), key: userKey).isFor(bindings.bindings) == true)
        #expect(SignaturePurpose(data: login(two), key: userKey).isFor(bindings.bindings) == false)
        #expect(SignaturePurpose(data: login(two, host: here.blob), key: userKey).isFor(bindings.bindings) == false)
    }

    @Test("SA-15: a message has a namespace") func messages() {
        #expect(SignaturePurpose(data: message("git"), key: userKey) == .message(namespace: "git"))
        #expect(SignaturePurpose(data: message(""), key: userKey) == .unknown)
        #expect(SignaturePurpose(data: message("git") + [0], key: userKey) == .unknown)
        #expect(SignaturePurpose(data: Array("SSHSIG".utf8), key: userKey) == .unknown)
        #expect(SignaturePurpose(data: Array("anything else".utf8), key: userKey) == .unknown)
    }
}
