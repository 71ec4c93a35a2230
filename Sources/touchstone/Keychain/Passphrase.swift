import ArgumentParser
import Foundation
import Glibc
import TouchstoneCore
import TouchstoneDevice
import TouchstoneMemory

/// Where a backup's passphrase comes from: the terminal, or a descriptor; never the command line or the environment.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the passphrase from this descriptor, one line, instead of the terminal.", valueName: "n"))
    var passphraseFd: Int32?

    func validate() throws {
        if let passphraseFd, passphraseFd < 0 {
            throw ValidationError("--passphrase-fd takes the number of a descriptor")
        }
    }

    /// Asks for a new one, at a terminal twice.
    ///
    /// - Throws: `Failure` if it is too weak.
    func new() throws -> SecretBytes {
        let passphrase = try read("New passphrase of the backup: ")
        if let problem = PassphraseStrength.problem(passphrase) { throw Failure(.refused, problem) }
        if passphraseFd == nil {
            guard passphrase.equals(try read("Repeat the passphrase: ")) else {
                throw Failure(.cancelled, "the two entries differ; nothing was written")
            }
        }
        return SecretBytes(passphrase)
    }

    func current() throws -> SecretBytes { SecretBytes(try read("Passphrase of the backup: ")) }

    private func read(_ question: String) throws -> PasscodeBuffer {
        let passphrase: PasscodeBuffer?
        if let passphraseFd {
            passphrase = PasscodeBuffer(lineFrom: passphraseFd)
        } else {
            guard Terminal.isInput else {
                throw Failure(
                    .cancelled, "there is no terminal to ask for the passphrase; use --passphrase-fd")
            }
            passphrase = try Terminal.withoutEcho {
                StandardError.write(question)
                defer { StandardError.write("\n") }
                return PasscodeBuffer(lineFrom: STDIN_FILENO)
            }
        }
        guard let passphrase, passphrase.count > 0 else { throw Failure(.cancelled, "no passphrase was entered") }
        guard !passphrase.isTooLong else {
            throw Failure(.refused, "the passphrase is longer than \(SealedPasscode.maximumPasscodeLength) bytes")
        }
        return passphrase
    }
}

/// Whether a passphrase would hold against somebody who has the file and time: nothing else stands before it.
enum PassphraseStrength {
    static let minimumCharacters = 12
    static let minimumDigits = 20
    /// Different pairs of neighbours that are not simply the next in the alphabet, or the same again.
    static let minimumPairs = 9

    /// A sentence that says what to do; nil: it is strong enough.
    static func problem(_ passphrase: some Collection<UInt8>) -> String? {
        let advice = "use four or five words that nobody would put together; they are strong and easy to remember"
        let characters = passphrase.count { $0 & 0xC0 != 0x80 }
        let digits = passphrase.allSatisfy { (0x30...0x39).contains($0) }
        let minimum = digits ? minimumDigits : minimumCharacters
        guard characters >= minimum else {
            let what = digits ? "digits, if it is only digits" : "characters"
            return "the passphrase is too short, because it needs at least \(minimum) \(what); \(advice)"
        }
        var pairs: Set<[UInt8]> = []
        for (first, second) in zip(passphrase, passphrase.dropFirst()) where abs(Int(first) - Int(second)) > 1 {
            pairs.insert([first, second])
        }
        guard pairs.count >= minimumPairs else {
            return "the passphrase repeats itself, or counts up; \(advice)"
        }
        return nil
    }
}
