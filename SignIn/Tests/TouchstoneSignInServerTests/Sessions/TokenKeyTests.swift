import Crypto
import Foundation
import JWTKit
import Testing
import TouchstoneSignInProtocol

@testable import TouchstoneSignInServer

@Suite struct TokenKeyTests {
    static func kid(_ token: String) throws -> String {
        let header = try #require(Data(base64URL: String(token.prefix { $0 != "." })))
        return try JSONDecoder().decode(AccessTokenHeader.self, from: header).kid
    }

    static func keySet(_ server: TestServer) async throws -> [JSONWebKey] {
        try await server.get("/.well-known/jwks.json").decode(JSONWebKeySet.self).keys
    }

    @Test func tokenIsVerifiedByTheKeySetAlone() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let device = try await server.device()
            let token = try await server.signIn(device, key).decode(Body.Session.self).accessToken
            // As another service would, knowing nothing but the address.
            let keys = JWTKeyCollection()
            let set = try await server.get("/.well-known/jwks.json")
            try await keys.add(jwksJSON: set.text)
            let claims = try await keys.verify(token, as: AccessToken.self)
            #expect(claims.iss == "signin.test" && claims.aud == "signin.test")
            #expect(claims.sub == server.userHandle.base64URL && claims.key == device.keyID.base64URL)
            #expect(claims.cnf.jkt == key.thumbprint && claims.exp - claims.iat == 300)
        }
    }

    @Test func newKeyIsShownBeforeItSignsAndTheOldOneAfterIt() async throws {
        try await TestServer.with(change: { $0.limits.address.count = 10000 }) { server async throws in
            let device = try await server.device()
            let first = try await Self.kid(server.signIn(device).decode(Body.Session.self).accessToken)
            #expect(try await Self.keySet(server).map(\.kid) == [first])
            server.clock.advance(by: 86400 + 60)
            await server.server.upkeep.once()
            let both = try await Self.keySet(server).map(\.kid)
            #expect(both.count == 2)
            #expect(try await Self.kid(server.signIn(device).decode(Body.Session.self).accessToken) == first)
            server.clock.advance(by: 3600)
            let second = try await Self.kid(server.signIn(device).decode(Body.Session.self).accessToken)
            #expect(second != first && both.contains(second))
            // The old one's last tokens are still good for five minutes.
            #expect(try await Self.keySet(server).count == 2)
            server.clock.advance(by: 360)
            #expect(try await Self.keySet(server).map(\.kid) == [second])
        }
    }

    @Test func severalProcessesMakeOneKey() async throws {
        try await withFolder { folder in
            let store = try SQLStore.sqlite(at: folder + "/signin.sqlite")
            let configuration = SignInConfiguration(
                audience: "a", origins: [], applications: [], secret: SymmetricKey(size: .bits256))
            let processes = (0..<8).map { _ in TokenKeys(configuration: configuration, store: store) }
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for keys in processes { group.addTask { try await keys.signing().id } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            #expect(try await store.tokenKeys().count == 1)
            try await store.close()
        }
    }

    @Test func keysUnderAnotherSecretAreNotOpened() async throws {
        try await withFolder { folder in
            let store = try SQLStore.sqlite(at: folder + "/signin.sqlite")
            func keys() -> TokenKeys {
                TokenKeys(
                    configuration: SignInConfiguration(
                        audience: "a", origins: [], applications: [], secret: SymmetricKey(size: .bits256)),
                    store: store)
            }
            _ = try await keys().signing()
            await #expect(throws: TokenKeyError.otherSecret) { try await keys().signing() }
            try await store.close()
        }
    }

    @Test func forgedTokenIsRefused() async throws {
        try await TestServer.with { server async throws in
            let key = TestSessionKey()
            let token = try await server.signIn(server.device(), key).decode(Body.Session.self).accessToken
            let parts = token.split(separator: ".").map(String.init)
            func encoded(_ object: [String: String]) throws -> String { try JSONEncoder().encode(object).base64URL }
            let kid = try Self.kid(token)
            let forged = [
                // No signature; a MAC with the public key; another key's name; one bit.
                "\(try encoded(["alg": "none", "typ": "at+jwt", "kid": kid])).\(parts[1]).",
                "\(try encoded(["alg": "HS256", "typ": "at+jwt", "kid": kid])).\(parts[1]).\(parts[2])",
                "\(try encoded(["alg": "ES256", "typ": "at+jwt", "kid": "x"])).\(parts[1]).\(parts[2])",
                "\(try encoded(["alg": "ES256", "typ": "JWT", "kid": kid])).\(parts[1]).\(parts[2])",
                "\(parts[0]).\(parts[1]).\(Data(base64URL: parts[2])!.dropLast().base64URL)A",
                "\(parts[0]).\(parts[1])A.\(parts[2])",
                "\(parts[0]).\(parts[1])", "", "..",
            ]
            for forged in forged {
                let headers = try key.headers("GET", "/orders", token: forged)
                #expect(try await server.get("/orders", headers: headers).isRefusal)
            }
            let headers = try key.headers("GET", "/orders", token: token)
            #expect(try await server.get("/orders", headers: headers).status == 200)
        }
    }
}
