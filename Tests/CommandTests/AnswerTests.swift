import Crypto
import Foundation
import Glibc
import Testing
import TouchstoneAgent
import TouchstoneCore
import TouchstoneDevice
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

@testable import touchstone

struct AgentScriptTests {
    @Test func scriptIsReadLineByLine() throws {
        let script = try AgentScript(
            parsing: "# demo\n\ncancel\n fallback\nretry\nallow\ndeny\nwait\nignore\npasscode  12 34\npassword a b\n")
        #expect(
            script.answers == [
                .cancel, .fallback, .retry, .permission(true), .permission(false), .wait, .ignore, .passcode(" 12 34"),
                .password("a b"),
            ])
    }

    @Test func unknownLineIsNamedByItsNumberAndNotRepeated() {
        #expect(
            throws: Failure(
                .usage,
                "line 2 of the script has to be one of: cancel, fallback, retry, allow, deny, passcode TEXT, password TEXT, wait, ignore"
            )
        ) { try AgentScript(parsing: "cancel\npass 1234") }
    }

    @Test func emptyFileIsAScriptWithoutAnAnswer() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("touchstone-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(throws: Failure(.usage, "the script \(file.path) cannot be read")) {
            try AgentScript(contentsOf: file.path)
        }
        try Data().write(to: file)
        #expect(try AgentScript(contentsOf: file.path).answers.isEmpty)
    }
}

/// Answers that come while prompts are up, line by line.
final class ScriptedAnswersTests {
    private let writing: Int32
    private let answers: ScriptedAnswers
    private let reading: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe pipe(&ends) == 0)
        (reading, writing) = (ends[0], ends[1])
        answers = ScriptedAnswers(input: reading)
    }

    deinit {
        close(reading)
        close(writing)
    }

    private func prompt(_ identifier: String, phase: AgentInterface.Phase = .biometry) -> AgentInterface.Prompt {
        var prompt = AgentInterface.Prompt.test(phase: phase, fallback: "Other way")
        prompt.identifier = identifier
        return prompt
    }

    /// What the answers are, as words.
    private func words(_ answer: PromptAnswer?) -> String? {
        switch answer {
        case nil: nil
        case .cancel?: "cancel"
        case .fallback?: "fallback"
        case .passcode(let passcode)?: "passcode " + String(decoding: Array(passcode), as: UTF8.self)
        default: "another"
        }
    }

    private func write(_ text: String, at prompt: AgentInterface.Prompt? = nil) throws -> String? {
        let bytes = Array(text.utf8)
        #expect(unsafe Glibc.write(writing, bytes, bytes.count) == bytes.count)
        return words(try answers.inputArrived(prompt))
    }

    @Test func firstLineAnswersThePromptThatIsUpAlready() throws {
        let shown = prompt("1")
        #expect(answers.promptChanged(shown, isNew: true) == nil)
        #expect(answers.input == reading)
        #expect(try write("can", at: shown) == nil, "half a line is not an answer")
        #expect(try write("cel\n", at: shown) == "cancel")
    }

    @Test func eachStateOfAPromptTakesOneLine() throws {
        let first = prompt("1")
        #expect(answers.promptChanged(first, isNew: true) == nil)
        #expect(try write("fallback\npasscode 1234\ncancel\n", at: first) == "fallback")
        #expect(try write("# nobody waits\n", at: first) == nil, "the next line is for the next state")
        let asking = prompt("1", phase: .passcode)
        #expect(words(answers.promptChanged(asking, isNew: false)) == "passcode 1234")
        #expect(words(answers.promptChanged(prompt("2"), isNew: true)) == "cancel")
    }

    @Test func lineThatAStateDoesNotTakeWaitsForOneThatDoes() throws {
        let shown = prompt("1")
        #expect(answers.promptChanged(shown, isNew: true) == nil)
        #expect(try write("passcode 1234\n", at: shown) == nil)
        #expect(words(answers.promptChanged(prompt("1", phase: .passcode), isNew: false)) == "passcode 1234")
    }

    @Test func waitLeavesThisStateAloneAndIgnoreThePrompt() throws {
        let shown = prompt("1")
        #expect(answers.promptChanged(shown, isNew: true) == nil)
        #expect(try write("wait\ncancel\n", at: shown) == nil)
        #expect(try write("ignore\ncancel\n", at: shown) == nil)
        #expect(words(answers.promptChanged(shown, isNew: false)) == "cancel")
        #expect(answers.promptChanged(prompt("2"), isNew: true) == nil)
        #expect(answers.promptChanged(prompt("2"), isNew: false) == nil, "it is ignored in every state")
        #expect(words(answers.promptChanged(prompt("3"), isNew: true)) == "cancel")
    }

    @Test func linesBeforeAPromptAreKept() throws {
        #expect(try write("cancel\n") == nil)
        #expect(words(answers.promptChanged(prompt("1"), isNew: true)) == "cancel")
    }

    @Test func lastLineNeedsNoEndAndThenNothingIsReadAnyMore() throws {
        let shown = prompt("1")
        _ = answers.promptChanged(shown, isNew: true)
        #expect(try write("cancel", at: shown) == nil)
        #expect(unsafe dup2(open("/dev/null", O_RDONLY), reading) == reading)
        #expect(words(try answers.inputArrived(shown)) == "cancel")
        #expect(answers.input == nil)
    }

    @Test func unknownLineEndsTheAgentAndIsNotRepeated() throws {
        let words =
            "line 2 of the script has to be one of: cancel, fallback, retry, allow, deny, passcode TEXT, password TEXT, wait, ignore"
        #expect(throws: Failure(.usage, words)) { try write("cancel\npass 1234\n") }
    }

    @Test func writerWithoutEndWaits() throws {
        for _ in 0..<100 { _ = try write(String(repeating: "cancel\n", count: 100)) }
        #expect(answers.input == nil)
        _ = answers.promptChanged(prompt("1"), isNew: true)
        #expect(answers.input == reading)
    }
}

struct PasscodeTests {
    private func buffer(_ text: String) -> PasscodeBuffer {
        let buffer = PasscodeBuffer()
        for byte in text.utf8 { buffer.append(byte) }
        return buffer
    }

    @Test func sealedPasscodeOpensWithTheEnclavesKeyAndItsNonceOnly() throws {
        let key = Curve25519.KeyAgreement.PrivateKey()
        let sealed = try PasscodeSeal(enclaveKey: key.publicKey.rawRepresentation)
            .seal(typed: [buffer("1234")], for: .unlock, nonce: Data("nonce".utf8))
        func open(_ nonce: String, _ purpose: SealedPasscode.Purpose = .unlock) throws -> Data {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: .Curve25519_SHA256_ChachaPoly, info: SealedPasscode.info,
                encapsulatedKey: sealed.encapsulatedKey)
            return try recipient.open(
                sealed.ciphertext, authenticating: SealedPasscode.context(purpose, nonce: Data(nonce.utf8)))
        }
        #expect(try open("nonce") == SealedPasscode.payload(["1234".utf8]))
        #expect(throws: (any Error).self) { try open("other") }
        #expect(throws: (any Error).self) { try open("nonce", .change) }
        #expect(throws: (any Error).self) { try open("nonce", .prompt(app: "app")) }
    }

    @Test func tooLongPasscodeIsRefusedAndTheLongestIsNot() throws {
        let seal = try PasscodeSeal(enclaveKey: Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation)
        let longest = buffer(String(repeating: "x", count: SealedPasscode.maximumPasscodeLength))
        _ = try seal.seal(typed: [longest], for: .unlock, nonce: Data())
        for _ in 0..<3 { longest.append(0x78) }
        #expect(longest.isTooLong)
        #expect(throws: Failure(.refused, "the passcode is longer than 256 bytes")) {
            try seal.seal(typed: [longest], for: .unlock, nonce: Data())
        }
    }

    @Test func backspaceTakesAWholeCharacter() {
        let passcode = buffer("aé")
        #expect(passcode.characters == 2)
        passcode.removeLastCharacter()
        #expect(passcode.equals(buffer("a")))
    }

    @Test func wipedPasscodeIsEmpty() {
        let passcode = buffer("1234")
        passcode.wipe()
        #expect(passcode.count == 0)
        #expect(passcode.equals(buffer("")))
    }
}
