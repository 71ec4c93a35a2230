import BridgeProcesses
import CredentialProtocol
import CredentialsClient
import Foundation
import Glibc

/// `docker-credential-touchstone store|get|erase|list|version`: what docker, podman and skopeo start for `"credsStore": "touchstone"`.
@main enum DockerCredentialHelper {
    static func main() {
        HelperProcess.leaveNoCore()
        let arguments = CommandLine.arguments
        guard arguments.count == 2 else { fail("Usage: docker-credential-touchstone <store|get|erase|list|version>") }
        do {
            switch arguments[1] {
            case "store": try store()
            case "get": try get()
            case "erase": try erase()
            case "list": try list()
            case "version", "--version", "-v":
                HelperProcess.write(Array("docker-credential-touchstone (Touchstone) \(BridgeVersion.current)\n".utf8))
            default: fail("docker-credential-touchstone: unknown action: \(arguments[1])")
            }
        } catch let failure as CredentialMessages.Failure {
            // Only what is not there may be called so: else docker goes on without credentials (GC-21).
            fail(failure == .gone ? DockerCredentialError.notFound.description : "Touchstone: \(failure.sentence)")
        } catch {
            fail("\(error)")
        }
    }

    /// Errors are read from standard output (GC-20).
    private static func fail(_ text: String) -> Never {
        HelperProcess.write(Array("\(text)\n".utf8))
        exit(1)
    }

    private static func input() -> [UInt8] { HelperProcess.input(DockerCredential.maximumCount) }

    private static func store() throws {
        let credential = try DockerCredential(input())
        var parameters = CredentialMessages.Parameters()
        parameters.item = .init(kind: .docker, place: credential.server, account: credential.username)
        parameters.secret = Data(credential.secret)
        _ = try CredentialsClient.call("Store", parameters)
    }

    private static func get() throws {
        let server = try DockerCredential.server(input())
        var parameters = CredentialMessages.Parameters()
        parameters.item = .init(kind: .docker, place: server)
        let results = try CredentialsClient.call("Get", parameters)
        guard let account = results.account, let secret = results.secrets?.first else {
            throw DockerCredentialError.notFound
        }
        HelperProcess.write(try DockerCredential(server: server, username: account, secret: Array(secret)).answer())
    }

    private static func erase() throws {
        var parameters = CredentialMessages.Parameters()
        parameters.item = .init(kind: .docker, place: try DockerCredential.server(input()))
        _ = try CredentialsClient.call("Erase", parameters)
    }

    private static func list() throws {
        var parameters = CredentialMessages.Parameters()
        parameters.item = .init(kind: .docker, place: "")
        let items = try CredentialsClient.call("List", parameters).items ?? []
        HelperProcess.write(
            DockerCredential.list(Dictionary(items.map { ($0.place, $0.account ?? "") }, uniquingKeysWith: { $1 })))
    }
}
