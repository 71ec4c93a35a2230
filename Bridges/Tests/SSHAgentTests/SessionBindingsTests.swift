import Crypto
import CryptoExtras
import Foundation
import SSHAgentProtocol
import Testing

@Suite struct SessionBindingsTests {
    let here = Server(), there = Server()
    let one = Array(repeating: UInt8(1), count: 64), two = Array(repeating: UInt8(2), count: 64)

    @Test("SA-10: a login binds its host") func login() throws {
        let bindings = Bound()
        #expect(bindings.destination == nil)
        #expect(bindings.bind(try here.binding(one)))
        #expect(bindings.destination?.hostKey.blob == here.blob)
        #expect(!bindings.isForwarded && bindings.origins.isEmpty)
    }

    @Test("SA-10: a forwarded login binds both hosts") func forwarded() throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(one, forwarding: true)))
        #expect(bindings.destination == nil && bindings.isForwarded)
        #expect(bindings.origins.first?.hostKey.blob == here.blob)
        #expect(bindings.bind(try there.binding(two)))
        #expect(bindings.origins.first?.hostKey.blob == here.blob)
        #expect(bindings.destination?.hostKey.blob == there.blob && bindings.isForwarded)
    }

    @Test("SA-24: the first host asks, whatever bindings it shows behind itself") func origins() throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(one, forwarding: true)))
        #expect(bindings.bind(try there.binding(two, forwarding: true)))
        #expect(bindings.origins.map(\.hostKey.blob) == [here.blob, there.blob])
        // The twin: one that is forged leaves none.
        #expect(!bindings.bind(string("no key") + string(one) + string("") + [1]))
        #expect(bindings.origins.isEmpty)
    }

    @Test("SA-11: the same again is right, and another key for the same session is not") func again() throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(one)))
        #expect(bindings.bind(try here.binding(one)))
        #expect(bindings.all.count == 1)
        #expect(!bindings.bind(try there.binding(one)))
        #expect(bindings.isTainted && bindings.destination == nil)
        // What comes later does not mend it.
        #expect(!bindings.bind(try here.binding(one)))
    }

    @Test("SA-11: nothing follows a login") func afterLogin() throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(one)))
        #expect(!bindings.bind(try there.binding(two)))
        #expect(bindings.isTainted)
    }

    @Test("SA-11: sixteen bindings, and not one more") func sixteen() throws {
        let bindings = Bound()
        for number in 0..<16 { #expect(bindings.bind(try here.binding([UInt8(number)], forwarding: true))) }
        #expect(!bindings.bind(try here.binding([16])))
    }

    @Test("SA-11: a session's id has 1 to 128 bytes", arguments: [(0, false), (1, true), (128, true), (129, false)])
    func length(_ count: Int, _ isRight: Bool) throws {
        let bindings = Bound()
        #expect(bindings.bind(try here.binding(Array(repeating: 3, count: count))) == isRight)
    }

    @Test("SA-11: a signature of another key, of another session, or that is cut is refused") func forged() throws {
        let forged = [
            string(here.blob) + string(one) + string(try there.signature(one)) + [0],
            string(here.blob) + string(one) + string(try here.signature(two)) + [0],
            Array(try here.binding(one).dropLast()),
            try here.binding(one) + [0],
        ]
        for contents in forged {
            let bindings = Bound()
            #expect(!bindings.bind(contents))
            #expect(bindings.isTainted)
        }
    }

    @Test("SA-11: a binding that fails still says that it was forwarded") func failedForwarding() throws {
        let bindings = Bound()
        #expect(!bindings.bind(string("no key") + string(one) + string("") + [1]))
        #expect(bindings.isForwarded && bindings.origins.isEmpty)
    }

    @Test("SA-12: ECDSA keys of three curves are verified") func curves() throws {
        let p256 = P256.Signing.PrivateKey()
        let p384 = P384.Signing.PrivateKey()
        let p521 = P521.Signing.PrivateKey()
        let kinds: [(String, Data, Data)] = [
            ("nistp256", p256.publicKey.x963Representation, try p256.signature(for: one).rawRepresentation),
            ("nistp384", p384.publicKey.x963Representation, try p384.signature(for: one).rawRepresentation),
            ("nistp521", p521.publicKey.x963Representation, try p521.signature(for: one).rawRepresentation),
        ]
        for (curve, point, raw) in kinds {
            let blob = string("ecdsa-sha2-\(curve)") + string(curve) + string(Array(point))
            let key = try #require(HostKey(blob: blob))
            func number(_ half: Data) -> [UInt8] { string([0] + Array(half)) }
            let numbers = number(raw.prefix(raw.count / 2)) + number(raw.suffix(raw.count / 2))
            let signature = string("ecdsa-sha2-\(curve)") + string(numbers)
            #expect(key.isValid(signature: signature, for: one))
            #expect(!key.isValid(signature: signature, for: two))
            #expect(!key.isValid(signature: signature + [0], for: one))
        }
    }

    @Test("SA-12: RSA is verified with SHA-2 and refused with SHA-1 or too short a key") func rsa() throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let numbers = try key.publicKey.getKeyPrimitives()
        let blob = string("ssh-rsa") + string(Array(numbers.publicExponent)) + string([0] + Array(numbers.modulus))
        let host = try #require(HostKey(blob: blob))
        let digest = SHA512.hash(data: one)
        let raw = Array(try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation)
        #expect(host.isValid(signature: string("rsa-sha2-512") + string(raw), for: one))
        #expect(!host.isValid(signature: string("rsa-sha2-256") + string(raw), for: one))
        #expect(!host.isValid(signature: string("ssh-rsa") + string(raw), for: one))
        #expect(HostKey(blob: string("ssh-rsa") + string([3]) + string(Array(repeating: 0x7F, count: 128))) == nil)
    }

    @Test("SA-12: of a certificate the key inside counts") func certificate() throws {
        let certificate =
            string("ssh-ed25519-cert-v01@openssh.com") + string("nonce")
            + string(Array(here.key.publicKey.rawRepresentation))
            + string("the rest")
        #expect(HostKey(blob: certificate)?.blob == here.blob)
        #expect(HostKey(blob: here.blob + [0]) == nil)
        #expect(HostKey(blob: string("sk-ssh-ed25519@openssh.com") + string("x")) == nil)
    }
}
