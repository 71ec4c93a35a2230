import Foundation
import Testing

@testable import WebAuthn

/// FD-50, FD-51: what touchstone-fido and Chromium's virtual authenticator made, as their tests keep it.
@Suite struct VectorTests {
    static let makers = ["touchstone-fido", "chromium"]

    struct Vector: Decodable {
        var domain: String
        var origin: String
        var challenges: [Data]
        var clientData: [Data]
        var attestationObject: Data
        var attestation: String
        var authenticatorData: Data
        var signature: Data
        var counters: [UInt32]

        init(named name: String) throws {
            let file = try #require(
                Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Fixtures"))
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
        }
    }

    @Test(arguments: makers) func aRegistrationAndASignInAreTaken(_ maker: String) throws {
        let vector = try Vector(named: maker)
        let site = RelyingParty(domain: vector.domain, origins: [vector.origin])
        let made = try site.register(
            clientData: vector.clientData[0], attestationObject: vector.attestationObject,
            challenge: vector.challenges[0])
        #expect(made.attestation.rawValue == vector.attestation)
        #expect(made.counter == vector.counters[0])
        let counter = try site.signIn(
            clientData: vector.clientData[1], authenticatorData: vector.authenticatorData, signature: vector.signature,
            key: made.publicKey, counter: made.counter, challenge: vector.challenges[1])
        #expect(counter == vector.counters[1])
    }

    @Test(arguments: makers) func theSameForAnotherSiteIsRefused(_ maker: String) throws {
        let vector = try Vector(named: maker)
        let site = RelyingParty(domain: "other.example", origins: [vector.origin])
        #expect(throws: WebAuthnRefusal.relyingParty) {
            try site.register(
                clientData: vector.clientData[0], attestationObject: vector.attestationObject,
                challenge: vector.challenges[0])
        }
    }
}
