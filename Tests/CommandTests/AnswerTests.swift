import Crypto
import Foundation
import Testing
import TouchstoneCore
import TouchstoneDevice
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
                "line 2 of the script is none of: cancel, fallback, retry, allow, deny, passcode TEXT, password TEXT, wait, ignore"
            )
        ) { try AgentScript(parsing: "cancel\npass 1234") }
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
            .seal(typed: buffer("1234"), for: .unlock, nonce: Data("nonce".utf8))
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
        _ = try seal.seal(typed: longest, for: .unlock, nonce: Data())
        for _ in 0..<3 { longest.append(0x78) }
        #expect(longest.isTooLong)
        #expect(throws: Failure(.refused, "the passcode is longer than 256 bytes")) {
            try seal.seal(typed: longest, for: .unlock, nonce: Data())
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
