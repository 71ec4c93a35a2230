import Foundation
import Outcome

/// Signing in without a password: the server has a public key and sends a nonce, the owner's finger signs it.
///
/// The server verifies with whatever it has, for example
/// `openssl dgst -sha256 -verify PUBLIC-KEY -signature SIGNATURE NONCE`.
@main
struct Nonce {
    private static let usage = """
        usage: nonce register PUBLIC-KEY       makes a key and writes its public half, as PEM, for the server
               nonce sign NONCE SIGNATURE      signs the file NONCE, after a finger, and writes the signature, as DER
               nonce forget                    deletes the key

        The key serves the fingers that are enrolled when it is made, and no other.
        """

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let files = arguments.dropFirst().map { URL(fileURLWithPath: $0) }
        do {
            switch (arguments.first, files.count) {
            case ("register", 1): try register(publicKey: files[0])
            case ("sign", 2): try sign(nonce: files[0], signature: files[1])
            case ("forget", 0): try SignInKey.delete()
            case ("--help", 0): print(usage)
            default:
                FileHandle.standardError.write(Data("\(usage)\n".utf8))
                exit(2)
            }
        } catch {
            print("\(arguments[0]): \(description(of: error))")
            exit(EXIT_FAILURE)
        }
    }

    private static func register(publicKey file: URL) throws {
        let key = try SignInKey.make()
        try Data(key.publicKey.pemRepresentation.utf8).write(to: file)
        print("register: the public key is in \(file.lastPathComponent)")
    }

    private static func sign(nonce: URL, signature file: URL) throws {
        let nonce = try Data(contentsOf: nonce)
        let key = try SignInKey.find(prompt: "sign in")
        // Blocks while the owner is asked.
        let signature = try key.signature(for: nonce)
        try signature.derRepresentation.write(to: file)
        print("sign: the signature is in \(file.lastPathComponent)")
    }
}
