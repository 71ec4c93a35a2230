import Crypto
import Foundation
import Testing
import TouchstoneCBOR

@testable import WebAuthn

/// FD-50: what is taken, and one refusal for each thing that may be wrong.
@Suite struct RegistrationTests {
    let site = RelyingParty(domain: "example.org", origins: ["https://example.org", "https://www.example.org"])

    private func refusal(
        _ authenticator: SoftwareAuthenticator = SoftwareAuthenticator(), clientData: Data? = nil, object: Data? = nil,
        challenge: Data? = nil
    ) throws -> WebAuthnRefusal? {
        let clientData = clientData ?? authenticator.clientData(.registration)
        let object = try object ?? authenticator.attestation()
        do throws(WebAuthnRefusal) {
            _ = try site.register(
                clientData: clientData, attestationObject: object, challenge: challenge ?? authenticator.challenge)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["packed", "none"]) func anAttestationIsTaken(_ format: String) throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.format = format
        authenticator.counter = 3
        authenticator.flags = 0x1D
        let made = try site.register(
            clientData: authenticator.clientData(.registration), attestationObject: authenticator.attestation(),
            challenge: authenticator.challenge)
        #expect(made.id == authenticator.id)
        #expect(made.publicKey.key.rawRepresentation == authenticator.key.publicKey.rawRepresentation)
        #expect(made.counter == 3)
        #expect(made.model == Data(repeating: 1, count: 16))
        #expect(made.canBeBackedUp)
        #expect(made.attestation == (format == "none" ? .none : .own))
    }

    @Test func anotherOriginOfTheSiteIsTaken() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.origin = "https://www.example.org"
        authenticator.extensions = .names([("credProtect", CBOR(3))])
        #expect(try refusal(authenticator) == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"type":"webauthn.create","challenge":"CQ==","origin":"https://example.org"}"#,
        #"{"type":"webauthn.create","challenge":"C+","origin":"https://example.org"}"#,
        #"{"type":"webauthn.create","challenge":"CR","origin":"https://example.org"}"#,
        #"{"type":"webauthn.create","challenge":7,"origin":"https://example.org"}"#,
        #"{"type":"webauthn.create","challenge":"CQ","origin":"https://example.org","x":"# + #"""#
            + String(repeating: "x", count: 4096) + #""}"#,
    ]) func clientDataOfAnotherFormIsRefused(_ json: String) throws {
        #expect(try refusal(clientData: Data(json.utf8)) == .clientDataForm)
    }

    @Test func anotherQuestionIsRefused() throws {
        #expect(try refusal(clientData: SoftwareAuthenticator().clientData(.signIn)) == .ceremony)
    }

    @Test func anotherChallengeIsRefused() throws {
        #expect(try refusal(challenge: Data(repeating: 8, count: 32)) == .challenge)
    }

    @Test(arguments: [
        "https://example.com", "http://example.org", "https://example.org:8443", "https://example.org.evil.example",
        "null",
        "https://EXAMPLE.org",
    ]) func anotherOriginIsRefused(_ origin: String) throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.origin = origin
        #expect(try refusal(authenticator) == .origin)
    }

    @Test func aFrameOfAnotherSiteIsRefused() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.isCrossOrigin = true
        #expect(try refusal(authenticator) == .crossOrigin)
    }

    @Test func anObjectOfAnotherFormIsRefused() throws {
        let good = try SoftwareAuthenticator().attestation()
        for object in [Data(), good.dropLast(), good + [0], Data(CBOR.map([:]).encoded), Data([0xBF, 0xFF])] {
            #expect(try refusal(object: object) == .attestationForm)
        }
        var authenticator = SoftwareAuthenticator()
        authenticator.format = "none"
        authenticator.change = { $0[.text("x")] = CBOR(1) }
        #expect(try refusal(authenticator) == .attestationForm)
    }

    @Test func anAttestationByAnotherIsRefused() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.format = "fido-u2f"
        #expect(try refusal(authenticator) == .attestationFormat)
        authenticator.format = "packed"
        authenticator.change = { $0[.text("x5c")] = .array([]) }
        #expect(try refusal(authenticator) == .attestationFormat)
        authenticator.change = { $0[.text("alg")] = CBOR(-257) }
        #expect(try refusal(authenticator) == .attestationFormat)
    }

    @Test func anAttestationThatTheKeyDidNotSignIsRefused() throws {
        let other = SoftwareAuthenticator()
        var authenticator = SoftwareAuthenticator()
        authenticator.change = {
            $0[.text("sig")] = (try? other.sign(authenticator.data(withCredential: true), .registration)).map {
                .bytes(Array($0))
            }
        }
        #expect(try refusal(authenticator) == .attestationSignature)
    }

    @Test func anotherSitesAuthenticatorDataIsRefused() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.domain = "example.com"
        #expect(try refusal(authenticator) == .relyingParty)
    }

    @Test(
        arguments: [
            (0x04, WebAuthnRefusal.userNotPresent), (0x01, .userNotVerified), (0x00, .userNotPresent),
            (0x15, .backupState),
        ] as [(UInt8, WebAuthnRefusal)]) func flagsAreLookedAt(_ flags: UInt8, _ wanted: WebAuthnRefusal) throws
    {
        var authenticator = SoftwareAuthenticator()
        authenticator.flags = flags
        #expect(try refusal(authenticator) == wanted)
    }

    @Test func withoutACredentialItIsRefused() throws {
        #expect(try refusal(object: SoftwareAuthenticator().attestation(withCredential: false)) == .noCredential)
    }

    @Test func authenticatorDataOfAnotherFormIsRefused() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.trailing = [0]
        #expect(try refusal(authenticator) == .authenticatorDataForm)
        authenticator.trailing = []
        authenticator.extensions = CBOR(1)
        #expect(try refusal(authenticator) == .authenticatorDataForm)
        authenticator.extensions = nil
        authenticator.id = Data()
        #expect(try refusal(authenticator) == .authenticatorDataForm)
        authenticator.id = Data(count: 1024)
        #expect(try refusal(authenticator) == .authenticatorDataForm)
        authenticator.id = Data(count: 1023)
        #expect(try refusal(authenticator) == nil)
    }

    @Test func anotherAlgorithmIsRefused() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.changeKey = { $0[CBOR(3)] = CBOR(-8) }
        #expect(try refusal(authenticator) == .algorithm)
    }

    @Test func aKeyOfAnotherFormIsRefused() throws {
        let changes: [(inout [CBOR: CBOR]) -> Void] = [
            { $0[CBOR(1)] = CBOR(3) }, { $0[CBOR(-1)] = CBOR(2) }, { $0[CBOR(3)] = nil }, { $0[CBOR(4)] = CBOR(1) },
            { $0[CBOR(-2)] = .bytes([UInt8](repeating: 1, count: 31)) },
            // Not on the curve.
            { $0[CBOR(-2)] = .bytes([UInt8](repeating: 1, count: 32)) }, { $0[CBOR(-3)] = .boolean(true) },
        ]
        for change in changes {
            var authenticator = SoftwareAuthenticator()
            authenticator.changeKey = change
            #expect(try refusal(authenticator) == .keyForm)
        }
    }
}
