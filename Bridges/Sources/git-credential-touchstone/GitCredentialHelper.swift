import BridgeProcesses
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// `git-credential-touchstone get|store|erase|capability`: what git starts for `credential.helper = touchstone`.
@main enum GitCredentialHelper {
    static func main() {
        HelperProcess.leaveNoCore()
        guard CommandLine.arguments.count == 2 else { usage() }
        switch CommandLine.arguments[1] {
        case "get": get()
        case "store": store()
        case "erase": erase()
        case "capability": HelperProcess.write(Array("version 0\n".utf8))
        case "--version": print(BridgeVersion.current)
        // git may have more of them one day, and wants no error for those (GC-10).
        case let action where action.hasPrefix("-"): usage()
        default: break
        }
    }

    private static func usage() -> Never {
        HelperProcess.complain(
            "usage: git-credential-touchstone get|store|erase|capability\n"
                + "git starts it. Run this once: touchstone bridge enable git")
        exit(1)
    }

    /// What git wrote, and the item that it means; exits where either is refused (GC-11).
    private static func request() -> (GitCredential, CredentialMessages.Item?) {
        do throws(GitCredentialError) {
            let credential = try GitCredential(HelperProcess.input(GitCredential.maximumCount))
            let place = try CredentialPlace(credential)
            return (credential, place.map { CredentialMessages.Item($0, account: credential.username) })
        } catch {
            HelperProcess.complain("git-credential-touchstone: \(error)")
            exit(1)
        }
    }

    private static func get() {
        guard isatty(1) == 0 else {
            HelperProcess.complain("git-credential-touchstone: a password is not written to a terminal")
            exit(1)
        }
        let (asked, item) = request()
        guard let item else { return }
        var answer = asked
        var parameters = CredentialMessages.Parameters()
        parameters.item = item
        do {
            let results = try CredentialsClient.call("Get", parameters)
            answer.username = results.account
            answer.password = results.secrets?.first.map { Array($0) }
            answer.passwordExpiry = results.expiry
            answer.refreshToken = nil
            HelperProcess.write(try answer.answer())
        } catch CredentialMessages.Failure.cancelled {
            HelperProcess.write(Array("quit=1\n".utf8))
        } catch CredentialMessages.Failure.gone {
            // git asks the next helper, or the person.
        } catch let failure as CredentialMessages.Failure {
            HelperProcess.complain("git-credential-touchstone: \(failure.sentence)")
        } catch {
            HelperProcess.complain("git-credential-touchstone: \(error)")
        }
    }

    private static func store() {
        let (credential, item) = request()
        // Nothing is kept without all of it: as git's own helpers do.
        guard let item, item.account != nil, let password = credential.password else { return }
        var parameters = CredentialMessages.Parameters()
        parameters.item = item
        parameters.secret = Data(password)
        parameters.expiry = credential.passwordExpiry
        change("Store", parameters)
    }

    private static func erase() {
        let (credential, item) = request()
        guard let item else { return }
        var parameters = CredentialMessages.Parameters()
        parameters.item = item
        parameters.secret = credential.password.map { Data($0) }
        change("Erase", parameters)
    }

    private static func change(_ method: String, _ parameters: CredentialMessages.Parameters) {
        do {
            _ = try CredentialsClient.call(method, parameters)
        } catch {
            if error != .gone { HelperProcess.complain("git-credential-touchstone: \(error.sentence)") }
        }
    }
}
