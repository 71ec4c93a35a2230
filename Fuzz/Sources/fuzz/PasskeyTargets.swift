import Crypto
import Foundation
import WebAuthn

/// A key that signed nothing.
private let nobodysKey = PasskeyPublicKey(P256.Signing.PrivateKey().publicKey)

let passkeyTargets = [
    // Two bytes say how long the browser's part is; the authenticator's follows.
    FuzzTarget(
        name: "passkeys",
        run: { bytes in
            let bytes = Data(bytes)
            guard bytes.count >= 2 else { return }
            let count = Int(bytes[0]) << 8 | Int(bytes[1])
            let (clientData, rest) = (Data(bytes.dropFirst(2).prefix(count)), Data(bytes.dropFirst(2 + count)))
            guard let said = try? ClientData(json: clientData) else {
                let site = RelyingParty(domain: "localhost", origins: [])
                hold(
                    (try? site.register(clientData: clientData, attestationObject: rest, challenge: Data())) == nil,
                    "a registration without client data")
                return
            }
            let site = RelyingParty(domain: "localhost", origins: [said.origin])
            func register(_ object: Data, _ challenge: Data) -> RelyingParty.NewPasskey? {
                try? site.register(clientData: clientData, attestationObject: object, challenge: challenge)
            }
            if let made = register(rest, said.challenge) {
                hold((1...1023).contains(made.id.count) && made.model.count == 16, "a credential of another length")
                hold(rest.range(of: made.publicKey.key.rawRepresentation.prefix(32)) != nil, "a key of nobody's")
                hold(register(rest + [0], said.challenge) == nil, "a registration with a byte more")
                hold(register(rest, said.challenge + [0]) == nil, "a registration for another challenge")
            }
            for split in [rest.count / 2, min(37, rest.count)] {
                let counter = try? site.signIn(
                    clientData: clientData, authenticatorData: Data(rest.prefix(split)),
                    signature: Data(rest.dropFirst(split)), key: nobodysKey, counter: 0, challenge: said.challenge)
                hold(counter == nil, "a signature of nobody's")
            }
        },
        // The kept corpus has what touchstone-fido and Chromium make.
        seeds: {
            let json = Data(#"{"type":"webauthn.create","challenge":"CQ","origin":"https://localhost"}"#.utf8)
            return [Data([0, UInt8(json.count)]) + json + [0xA3]]
        })
]
