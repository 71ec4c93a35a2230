import Crypto
import Foundation
import Testing
import TouchstoneCBOR

@testable import WebAuthn

/// FD-51: what is taken, and one refusal for each thing that may be wrong.
@Suite struct SignInTests {
    let site = RelyingParty(domain: "example.org", origins: ["https://example.org"])

    private func result(
        _ authenticator: SoftwareAuthenticator = SoftwareAuthenticator(), key: P256.Signing.PublicKey? = nil,
        counter: UInt32 = 0, clientData: Data? = nil, data: Data? = nil, signature: Data? = nil, challenge: Data? = nil
    ) throws -> Result<UInt32, WebAuthnRefusal> {
        let clientData = clientData ?? authenticator.clientData(.signIn)
        let said = authenticator.data(withCredential: false)
        let signature = try signature ?? authenticator.sign(said, .signIn)
        do throws(WebAuthnRefusal) {
            return .success(
                try site.signIn(
                    clientData: clientData, authenticatorData: data ?? said, signature: signature,
                    key: PasskeyPublicKey(key ?? authenticator.key.publicKey), counter: counter,
                    challenge: challenge ?? authenticator.challenge))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [(0, 0), (0, 1), (5, 6), (5, .max)] as [(UInt32, UInt32)])
    func aCounterThatRisesOrDoesNotCountIsTaken(_ before: UInt32, _ now: UInt32) throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.counter = now
        #expect(try result(authenticator, counter: before) == .success(now))
    }

    @Test(arguments: [(1, 0), (1, 1), (6, 5)] as [(UInt32, UInt32)])
    func aCounterThatDoesNotRiseIsRefused(_ before: UInt32, _ now: UInt32) throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.counter = now
        #expect(try result(authenticator, counter: before) == .failure(.counter))
    }

    @Test func anotherKeysSignatureIsRefused() throws {
        #expect(try result(key: P256.Signing.PrivateKey().publicKey) == .failure(.signature))
    }

    @Test func aSignatureOfAnotherFormIsRefused() throws {
        let authenticator = SoftwareAuthenticator()
        let good = try authenticator.sign(authenticator.data(withCredential: false), .signIn)
        #expect(try result(authenticator, signature: good) == .success(0))
        for signature in [Data(), good.dropLast(), good + [0], Data(repeating: 0, count: 64)] {
            #expect(try result(authenticator, signature: signature) == .failure(.signature))
        }
    }

    /// Every bit of what was signed is signed.
    @Test func aChangedBitIsRefused() throws {
        let authenticator = SoftwareAuthenticator()
        let said = authenticator.data(withCredential: false)
        let signature = try authenticator.sign(said, .signIn)
        for bit in 0..<said.count * 8 {
            var changed = said
            changed[bit / 8] ^= 1 << (bit % 8)
            guard case .failure = try result(authenticator, data: changed, signature: signature) else {
                Issue.record("bit \(bit) may change")
                continue
            }
        }
    }

    @Test func whatTheBrowserSaysIsLookedAt() throws {
        var authenticator = SoftwareAuthenticator()
        #expect(try result(clientData: authenticator.clientData(.registration)) == .failure(.ceremony))
        #expect(try result(clientData: Data("{}".utf8)) == .failure(.clientDataForm))
        #expect(try result(challenge: Data()) == .failure(.challenge))
        authenticator.origin = "https://example.com"
        #expect(try result(authenticator) == .failure(.origin))
        authenticator.origin = "https://example.org"
        authenticator.isCrossOrigin = true
        #expect(try result(authenticator) == .failure(.crossOrigin))
    }

    @Test func whatTheAuthenticatorSaysIsLookedAt() throws {
        var authenticator = SoftwareAuthenticator()
        authenticator.domain = "example.com"
        #expect(try result(authenticator) == .failure(.relyingParty))
        authenticator.domain = "example.org"
        // As touchstone-fido's silent look, whose signature does not verify either.
        for (flags, wanted) in [
            (0x00, WebAuthnRefusal.userNotPresent), (0x04, .userNotPresent), (0x01, .userNotVerified),
            (0x15, .backupState),
            (0x85, .authenticatorDataForm), (0x45, .authenticatorDataForm),
        ] as [(UInt8, WebAuthnRefusal)] {
            authenticator.flags = flags
            #expect(try result(authenticator) == .failure(wanted))
        }
        authenticator.flags = 0x05
        authenticator.trailing = [0xA0]
        #expect(try result(authenticator) == .failure(.authenticatorDataForm))
        #expect(try result(data: Data(count: 36)) == .failure(.authenticatorDataForm))
    }
}
