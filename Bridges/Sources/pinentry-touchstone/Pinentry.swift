import CDumpable
import CTouchstoneSystem
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc
import PinentryProtocol

/// Answers gpg-agent: with what is kept, after the owner was asked, else with what a person types.
struct Pinentry {
    private let fallback: String?
    private let arguments: [String]
    private var session = PinentrySession(processID: getpid())
    /// What the person typed, until gpg-agent says whether it is right.
    private let typed = SecretLine()
    /// What was kept, and given to gpg-agent last.
    private let given = SecretLine()
    /// The key for which `typed` is kept if it is right.
    private var keepsFor: CredentialMessages.Item?
    /// Whether a typed passphrase was wrong: gpg-agent does not say so of the last one that it takes.
    private var wasMistyped = false

    /// - Parameters:
    ///   - fallback: The ordinary pinentry; nil for the one that is installed.
    ///   - arguments: What it is started with.
    init(fallback: String?, arguments: [String]) {
        self.fallback = fallback
        self.arguments = arguments
    }

    /// Serves gpg-agent until it is done.
    mutating func serve() {
        say(Array("OK Pleased to meet you".utf8))
        let line = SecretLine()
        while line.read(0) {
            switch session.take(Array(line)) {
            case .answer(let lines): lines.forEach(say)
            case .passphrase: passphrase()
            case .dialog(let command): ask(command)
            case .forget(let keygrip):
                // For this call the process opens its memory (PE-7).
                given.wipe()
                typed.wipe()
                _ = try? Departure.whileAwaited { () throws(CredentialMessages.Failure) in
                    try call("Erase", item(keygrip), nil)
                }
                say(Array("OK".utf8))
            case .end: return keep()
            }
        }
    }

    // MARK: A passphrase

    private mutating func passphrase() {
        defer { session.wasAsked() }
        var notices: [String] = []
        let isWrong = session.saysWrong
        if isWrong, !given.isEmpty {
            forgetGiven()
            notices.append("The passphrase that Touchstone kept is wrong, and is forgotten.")
        } else if isWrong {
            wasMistyped = true
        }
        given.wipe()
        typed.wipe()
        keepsFor = nil
        if session.allowsKeeping, !session.choosesNew, let keygrip = session.keygrip {
            let item = item(keygrip)
            if isWrong {
                keepsFor = wasMistyped ? nil : item
            } else {
                do {
                    return try give(item)
                } catch .gone {
                    keepsFor = item
                } catch .cancelled {
                    notices.append("You cancelled Touchstone's prompt. Type the passphrase instead.")
                } catch {
                    notices.append("Touchstone cannot unlock it: \(error.sentence). Type the passphrase instead.")
                }
            }
        }
        if keepsFor != nil {
            notices.append("Touchstone will keep the passphrase. Later it asks for your finger instead.")
        }
        ask(Array("GETPIN".utf8), notices)
    }

    /// Answers with what is kept.
    private func give(_ item: CredentialMessages.Item) throws(CredentialMessages.Failure) {
        let results = try Departure.whileAwaited { () throws(CredentialMessages.Failure) in
            try call("Get", item, nil)
        }
        guard let secret = results.secrets?.first else { throw .unavailable }
        let line = SecretLine()
        line.append("D ".utf8)
        for byte in secret {
            given.append(byte)
            AssuanText.appendEscaped(byte) { line.append($0) }
        }
        guard !line.isTooLong, line.write(1) else { throw .unavailable }
        say(Array("OK".utf8))
    }

    /// Whoever had it may have it forgotten: nobody is asked.
    private func forgetGiven() {
        guard let keygrip = session.keygrip else { return }
        _ = try? call("Erase", item(keygrip), given)
    }

    /// gpg-agent took what was typed.
    private mutating func keep() {
        defer { typed.wipe() }
        guard let item = keepsFor, !typed.isEmpty else { return }
        do {
            _ = try call("Store", item, typed)
        } catch {
            HelperProcess.complain("pinentry-touchstone: the passphrase is not kept: \(error.sentence)")
        }
    }

    private func item(_ keygrip: String) -> CredentialMessages.Item {
        .init(kind: .gpg, place: keygrip, account: session.keyName ?? "a key")
    }

    /// touchstone-credentials has to see what this process executes, so that it is open until the answer comes.
    private func call(
        _ method: String, _ item: CredentialMessages.Item, _ secret: SecretLine?
    ) throws(CredentialMessages.Failure) -> CredentialMessages.Results {
        guard become_dumpable() else { throw .unavailable }
        defer { _ = touchstone_become_undumpable() }
        var parameters = CredentialMessages.Parameters()
        parameters.item = item
        // A key has one passphrase, whatever its owner is called.
        if method != "Store" { parameters.item?.account = nil }
        parameters.secret = secret.map { Data($0) }
        return try CredentialsClient.call(method, parameters)
    }

    // MARK: Typing

    private mutating func ask(_ command: [UInt8], _ notices: [String] = []) {
        guard touchstone_become_undumpable(), let path = OrdinaryPinentry.path(fallback) else {
            return say(PinentryError.noPinentry.line)
        }
        let lines = session.lines(notice: notices.isEmpty ? nil : notices.joined(separator: "\n"))
        let typed = keepsFor == nil ? nil : typed
        do {
            let arguments = arguments
            let reply = try Departure.whileAwaited { () throws(OrdinaryPinentry.Failure) in
                try OrdinaryPinentry(path, arguments, lines).ask(command, typed: typed)
            }
            if reply != .success { self.typed.wipe() }
        } catch {
            self.typed.wipe()
            say(error.error.line)
        }
        if self.typed.isTooLong { keepsFor = nil }
    }

    private func say(_ line: [UInt8]) {
        let all = SecretLine()
        all.append(line)
        // Somebody who left is not told.
        _ = all.write(1)
    }
}
