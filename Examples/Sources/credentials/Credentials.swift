import Foundation
import Security

/// Keeps passwords for servers.
///
/// To read one takes the owner's finger, face or passcode, unless it was saved with an option.
@main
struct Credentials {
    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch is KeychainError {
            exit(EXIT_FAILURE)
        } catch {
            FileHandle.standardError.write(Data("\(usage)\n".utf8))
            exit(2)
        }
    }

    private static let usage = """
        usage: credentials save [--unprotected | --synchronizable] ACCOUNT SERVER
                                                                 the password is read from standard input
               credentials read [--reuse SECONDS] SERVER
               credentials search                                accounts that need no prompt to be listed
               credentials delete SERVER
        """

    private static func run(_ arguments: [String]) throws {
        switch (arguments.first, arguments.dropFirst().map { $0 }) {
        case ("save", let words) where words.count == 3:
            guard let protection = Protection(option: words[0]) else { throw UsageError() }
            try save(Credential(account: words[1], password: readPassword()), server: words[2], protection)
        case ("save", let words) where words.count == 2:
            try save(Credential(account: words[0], password: readPassword()), server: words[1], .owner)
        case ("read", let words) where words.count == 3 && words[0] == "--reuse":
            guard let seconds = TimeInterval(words[1]) else { throw UsageError() }
            try show(read(server: words[2], reuseDuration: seconds))
        case ("read", let words) where words.count == 1:
            try show(read(server: words[0], reuseDuration: 0))
        case ("search", []):
            try search()
        case ("delete", let words) where words.count == 1:
            try delete(server: words[0])
        default:
            throw UsageError()
        }
    }

    private static func readPassword() throws -> String {
        guard let password = readLine(), !password.isEmpty else { throw UsageError() }
        return password
    }

    private static func show(_ credential: Credential) {
        print("\(credential.account): \(credential.password)")
    }

    private struct UsageError: Error {}
}

struct Credential {
    var account: String
    var password: String
}

/// Who may read a credential, and where.
enum Protection {
    /// The owner who is present, on this device.
    case owner
    /// This app, on this device.
    case unprotected
    /// This app, on all of the owner's devices.
    case synchronizable

    init?(option: String) {
        switch option {
        case "--unprotected": self = .unprotected
        case "--synchronizable": self = .synchronizable
        default: return nil
        }
    }
}

/// A keychain call that did not succeed, and was said so.
struct KeychainError: Error {
    var status: OSStatus
}
