import Foundation
import TouchstoneMemory
import TouchstoneSignInProtocol

@testable import TouchstoneAge
@testable import TouchstonePeers

private let passphrase = "four words make a passphrase"

/// What a file opens as; nil if the reader refuses it.
private func opened(_ file: Data, pieces: Int) -> Data? {
    var rest = file[...]
    return unlessRefused([AgeError.self]) {
        var reader = try AgeReader(passphrase: SecretBytes(passphrase.utf8)) { count in
            let part = Data(rest.prefix(min(count, pieces)))
            rest = rest.dropFirst(part.count)
            return part
        }
        var plain = Data()
        while let part = try reader.next() { plain += part }
        return plain
    }
}

private func written(_ plain: Data) throws -> Data {
    var file = Data()
    var writer = try AgeWriter(passphrase: SecretBytes(passphrase.utf8), workFactor: 1) { file += $0 }
    try writer.write(plain)
    try writer.finish()
    return file
}

/// What says so takes a second and a gibibyte by right: its bounds are AgeTests'.
private func isExpensive(_ file: Data) -> Bool {
    let lines = file.prefix(256).split(separator: UInt8(ascii: "\n"), maxSplits: 2)
    guard lines.count > 1, let factor = lines[1].split(separator: UInt8(ascii: " ")).last else { return false }
    return (Int(String(decoding: factor, as: UTF8.self)) ?? 0) > 6
}

/// A file of ours in which bytes were changed: it is what it was, or nothing.
private func changedAge(_ input: Data) {
    let (edits, plain) = input.halves
    guard var file = try? written(plain) else { broken("nothing is written") }
    hold(opened(file, pieces: .max) == plain, "what was written is not read")
    let original = file
    var changes = edits[...]
    while changes.count >= 3 {
        let place = (Int(changes[changes.startIndex]) | Int(changes[changes.startIndex + 1]) << 8) % file.count
        let value = changes[changes.startIndex + 2]
        changes = changes.dropFirst(3)
        // 0xFF cuts the file there, or, at its beginning, doubles its end.
        if value == 0xFF {
            file = place < 64 ? file + file.suffix(place) : file.prefix(place)
            if file.isEmpty { return }
        } else {
            file[file.startIndex + place] ^= value
        }
    }
    file = Data(file)
    guard !isExpensive(file), file != original else { return }
    // The version, the salt and the rest are all authenticated.
    hold(opened(file, pieces: 7) == nil, "a changed file opens: \(file.base64EncodedString())")
}

private func propertyList(_ bytes: Data) {
    guard let list = InfoPropertyList(bytes) else { return }
    for (key, value) in list.strings { hold(!(key + value).utf8.isEmpty || bytes.count > 20, "text of nothing") }
    guard let commented = InfoPropertyList(Data("<!-- x -->".utf8) + bytes) else {
        broken("a comment before a list makes it malformed")
    }
    hold(commented.strings == list.strings, "a comment changes what is read")
}

let fileTargets: [FuzzTarget] = [
    FuzzTarget(name: "age") { bytes in
        let (choice, rest) = bytes.choice
        guard choice & 1 == 0 else { return changedAge(rest) }
        guard !isExpensive(rest) else { return }
        hold(opened(rest, pieces: 1) == opened(rest, pieces: .max), "the pieces that it comes in make a difference")
    } seeds: {
        try [Data(), Data("plain text".utf8), Data(count: 300)].flatMap { plain in
            [Data([0]) + (try written(plain)), Data([1]) + Data.halves(Data([70, 0, 1]), plain)]
        } + [Data([1]) + Data.halves(Data([200, 0, 0xFF]), Data("cut".utf8))]
    },
    FuzzTarget(name: "property-list") { bytes in
        propertyList(bytes)
    } seeds: {
        [
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>org.example.app</string>
            <key>List</key><array><string>x</string><dict><key>y</key><true/></dict></array>
            <key>NSFaceIDUsageDescription</key><string>To &quot;open&quot; &#x41;&#66; &amp; more</string></dict></plist>
            """, "<plist><dict/></plist>", "<plist><dict><key>a</key><string/></dict></plist><!-- end -->",
        ].map { Data($0.utf8) }
    },
    FuzzTarget(name: "manifest") { bytes in
        guard let file = unlessRefused([KeyFile.Malformed.self], { try KeyFile(bytes) }) else { return }
        guard let manifest = unlessRefused([AppManifest.Refused.self], { try AppManifest(file) }) else { return }
        let groups = manifest.keychainAccessGroups + manifest.applicationGroups
        hold(Set(groups).count == groups.count, "a group is named twice")
        hold(groups.isEmpty || manifest.family != nil, "groups without a family")
        let family = "\(manifest.family ?? "")."
        for group in groups.map(\.rawValue) {
            hold(group.hasPrefix(family) || group.hasPrefix("group."), "\(group) is not of the family")
        }
    } seeds: {
        [
            """
            # An app.
            [Application]
            Identity=/usr/bin/example
            SHA256=\(String(repeating: "0a", count: 32));
            Name=Example
            Family=EXAMPLE1
            keychain-access-groups=EXAMPLE1.one;EXAMPLE1.two;
            application-groups=group.example;
            NSFaceIDUsageDescription=To open what you keep
            X-Other=1
            """, "[Application]\nIdentity=flatpak:org.example.App\nName=a\n",
            "[Application]\nIdentity=unit:a@b.service\nName=ä\n[X-Y]\nz=1",
        ].map { Data($0.utf8) }
    },
    FuzzTarget(name: "sign-in") { bytes in
        if let message = unlessRefused([SignInFormatError.self], { try SignedMessage(bytes: bytes) }) {
            hold(message.bytes == bytes, "a message has two spellings")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let decoded = Data(base64URL: text) { hold(decoded.base64URL == text, "base64url has two spellings") }
    } seeds: {
        let message = SignedMessage(
            purpose: .signIn, audience: "https://example.org", application: "org.example", keyID: Data(count: 32),
            userHandle: Data(count: 16), challenge: Data(count: 32), clientNonce: Data(count: 32), counter: 1,
            issuedAt: 2, detailsHash: Data(count: 32))
        return [message.bytes, Data("QUJD_-8".utf8)]
    },
]
