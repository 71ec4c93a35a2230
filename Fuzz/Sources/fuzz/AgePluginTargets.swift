import AgePlugin
import Foundation

/// What age says to the plugin, line by line: the same bytes as each of the two conversations.
private func conversation(_ bytes: Data) {
    var (reader, wrap, unwrap) = (StanzaReader(), WrapRequest(), UnwrapRequest())
    var (isWrapping, isUnwrapping) = (true, true)
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        guard let taken = unlessRefused([StanzaError.self], { try reader.take(Array(line)) }) else { return }
        guard let stanza = taken else { continue }
        hold(reader.isBetween, "a stanza that is over goes on")
        var again = StanzaReader()
        var echo: Stanza?
        for line in stanza.encoded.split(separator: 0x0A, omittingEmptySubsequences: false) where echo == nil {
            echo = unlessRefused([StanzaError.self], { try again.take(Array(line)) }) ?? nil
        }
        hold(echo == stanza, "another stanza")
        if isWrapping { isWrapping = unlessRefused([StanzaError.self], { try wrap.take(stanza) }) ?? false }
        if isUnwrapping { isUnwrapping = unlessRefused([StanzaError.self], { try unwrap.take(stanza) }) ?? false }
        if !isWrapping && !isUnwrapping { break }
    }
    for stanza in wrap.answers() { hold(!stanza.arguments.isEmpty, "an answer that says nothing") }
    for file in unwrap.plan().files {
        hold(!file.matches.isEmpty, "a file for nobody")
        for match in file.matches { hold(match.stanza.isFor(match.identity.recipient), "a stanza of another identity") }
    }
}

/// A recipient or an identity, as a person pastes it.
private func name(_ bytes: Data) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let recipient = TagRecipient(text) {
        hold(TagRecipient("\(recipient)") == recipient, "another recipient")
    }
    if let identity = PluginIdentity(text) {
        hold(PluginIdentity("\(identity)") == identity, "another identity")
    }
}

let agePluginTargets = [
    FuzzTarget(
        name: "age-plugin",
        run: { bytes in
            conversation(bytes)
            name(bytes)
        },
        // The kept corpus has what age 1.1.1 sends.
        seeds: {
            [
                "-> add-recipient age1touchstone1qqqq\n\n-> wrap-file-key\nMTIzNDU2Nzg5MDEyMzQ1Ng\n-> done\n\n",
                "-> add-identity AGE-PLUGIN-TOUCHSTONE-1QQQQ\n\n-> recipient-stanza 0 p256tag abcd efgh\nYQ\n-> done\n\n",
            ].map { Data($0.utf8) }
        })
]
