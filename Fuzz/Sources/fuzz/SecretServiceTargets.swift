import Foundation
import SecretServiceModel

private let exponent = [UInt8](repeating: 7, count: 32)
private let itemKey = SymmetricKeyBytes(Data(repeating: 4, count: 32))
private let item = "item"

/// What programs give the Secret Service, and what it kept itself.
private func secretService(_ bytes: Data) {
    let (choice, rest) = bytes.choice
    switch choice & 3 {
    case 0:
        let (publicValue, message) = rest.halves
        let agreed = unlessRefused(
            [SessionCipher.Failure.self],
            { try SessionCipher.agree(with: Array(publicValue), exponent: exponent) })
        guard let (cipher, ours) = agreed else { return }
        hold(ours.count == 128, "a public value of another length")
        let (vector, sealed) = message.halves
        // A client's secret, which seldom decrypts.
        _ = try? cipher.open(parameters: Array(vector), value: Array(sealed))
        guard let (parameters, value) = cipher.seal(message) else { broken("a secret is not sealed") }
        let opened = unlessRefused([SessionCipher.Failure.self]) {
            try cipher.open(parameters: parameters, value: value)
        }
        hold(opened == message, "another secret")
    case 1:
        let text = String(decoding: rest, as: UTF8.self)
        if let path = SecretPath(text) {
            hold(path.text == text, "another path")
        }
    case 2:
        guard let secret = SealedSecret(rest) else { return }
        hold(SealedSecret(secret.kept)?.kept == secret.kept, "another secret is kept")
        if let key = secret.copy ?? itemKey { _ = secret.open(key, item: item) }
    default:
        guard let description = ItemDescription(rest) else { return }
        hold(ItemDescription.allows(description.attributes), "attributes beyond the limits")
        // A text may be too long as it is written, because a control character takes six bytes.
        if let again = ItemDescription(description.kept) { hold(again == description, "another item") }
    }
}

private func secretServiceSeeds() -> [Data] {
    let text = { (choice: UInt8, text: String) in Data([choice]) + Data(text.utf8) }
    var described = ItemDescription(
        collection: "login", attributes: ["xdg:schema": "org.a", "b": "c\"\u{1}"], contentType: "text/plain",
        maker: "/usr/bin/a", grantee: GrantedProgram(row: "r", path: "/usr/bin/a", digest: "d"), created: 1, modified: 2
    )
    described.secretBytes = 3
    let kept = OwnerKey.Public(name: Data([UInt8](repeating: 9, count: 32)).base64EncodedString())
        .flatMap { OwnerKey.Sealer(for: $0) }
        .flatMap { sealer in
            itemKey.flatMap { SealedSecret(Data("secret".utf8), $0, item: item, for: sealer, hasCopy: true)?.kept }
        }
    return [
        Data([0]) + .halves(Data([5]), .halves(Data(count: 16), Data(count: 32))),
        Data([0]) + .halves(Data(repeating: 0xFF, count: 127), Data("a secret of the owner's".utf8)),
        text(1, "/org/freedesktop/secrets"), text(1, "/org/freedesktop/secrets/collection/login"),
        text(1, "/org/freedesktop/secrets/aliases/default/abc"), text(1, "/org/freedesktop/secrets/session/s1"),
        Data([2]) + (kept ?? Data()), Data([3]) + described.kept,
    ]
}

let secretServiceTargets: [FuzzTarget] = [
    FuzzTarget(name: "secret-service", run: secretService, seeds: secretServiceSeeds)
]
