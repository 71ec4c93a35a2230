import Foundation
import Outcome

/// Notes that any program of yours may write, and only your finger can read.
///
/// Writing needs the public key, which everybody may have: it asks for nobody. Reading needs the private key, which is in
/// the Secure Enclave, does not leave it, and is used only once the owner is there.
@main
struct EnclaveNote {
    private static let usage = """
        usage: enclave-note write FILE    encrypts standard input into FILE; asks for nobody
               enclave-note read FILE     prints the note in FILE, after a finger
               enclave-note forget        deletes the key: no note can be read again

        The key is made by the first note. It serves the fingers that are enrolled then, and no other.
        """

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("write", 2): try write(to: URL(fileURLWithPath: arguments[1]))
            case ("read", 2): try read(from: URL(fileURLWithPath: arguments[1]))
            case ("forget", 1): try NoteKey.delete()
            case ("--help", 1): print(usage)
            default:
                FileHandle.standardError.write(Data("\(usage)\n".utf8))
                exit(2)
            }
        } catch {
            print("\(arguments[0]): \(description(of: error))")
            exit(EXIT_FAILURE)
        }
    }

    private static func write(to file: URL) throws {
        let key = try NoteKey.find() ?? NoteKey.make()
        let note = FileHandle.standardInput.readDataToEndOfFile()
        let encrypted = try NoteKey.encrypt(note, to: key)
        try encrypted.write(to: file)
        print("write: \(note.count) bytes became \(encrypted.count) in \(file.lastPathComponent)")
    }

    private static func read(from file: URL) throws {
        let encrypted = try Data(contentsOf: file)
        guard let key = try NoteKey.find(prompt: "read the note “\(file.lastPathComponent)”") else {
            print("read: there is no key; the first note makes it")
            exit(EXIT_FAILURE)
        }
        print(String(decoding: try NoteKey.decrypt(encrypted, with: key), as: UTF8.self), terminator: "")
    }
}
