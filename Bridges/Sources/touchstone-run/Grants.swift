import ArgumentParser
import CredentialProtocol
import CredentialsClient
import Foundation

/// What programs may read without a question (BR-33).
struct Grants: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and revoke what programs may read without asking the owner.",
        subcommands: [List.self, Revoke.self])

    /// One of them, as it is shown and as JSON.
    private struct Shown: Encodable {
        var secret: String
        var program: String
        var digest: String?
        var since: String

        init(_ grant: CredentialMessages.Grant) {
            secret = Grants.words(grant.item)
            (program, digest) = (grant.program, grant.digest)
            since = Date(timeIntervalSince1970: Double(grant.since)).formatted(.iso8601)
        }

        var line: String {
            let condition = digest == nil ? "" : ", while its file is the same"
            return "\(Self.printable(program)) reads \(Self.printable(secret)), since \(since.prefix(10))\(condition)\n"
        }

        /// A path can have line feeds, escape sequences and direction marks, which would hide its line.
        private static func printable(_ text: String) -> String {
            text.unicodeScalars.map { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: "?"
                default: String(scalar)
                }
            }.joined()
        }
    }

    /// A reference, or a web address with its user.
    private static func words(_ item: CredentialMessages.Item) -> String {
        if item.kind == .secret {
            return SecretReference(service: item.place, account: item.account ?? "")?.description ?? item.place
        }
        guard let place = item.credentialPlace else { return item.place }
        let user = item.account.flatMap { $0.isEmpty ? nil : "\($0)@" } ?? ""
        return
            "\(place.scheme)://\(user)\(place.host)\(place.port.map { ":\($0)" } ?? "")\(place.path.map { "/\($0)" } ?? "")"
    }

    private static func all() throws -> [CredentialMessages.Grant] {
        do throws(CredentialMessages.Failure) {
            let found = try CredentialsClient.call("ListGrants", .init(), answersSecrets: false).grants ?? []
            return found.sorted { ($0.program, words($0.item)) < ($1.program, words($1.item)) }
        } catch {
            throw CommandFailure(error)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List them: the program, the password, and since when.",
            discussion: "Example: touchstone bridge grants list")

        @Flag(help: "As JSON.")
        var json = false

        func run() throws {
            let shown = try Grants.all().map(Shown.init)
            guard json else {
                HelperProcess.write(Array(shown.map(\.line).joined().utf8))
                return
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
            HelperProcess.write(Array(try encoder.encode(shown)) + [0x0A])
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop a program from reading without asking you.",
            discussion: """
                You are not asked, because this only takes a right away.

                Example: touchstone bridge grants revoke /usr/local/bin/deploy
                """)

        @Argument(help: "The path of the program, as the list shows it.")
        var program: String

        @Argument(help: "One password, as the list shows it; without it all that the program reads.")
        var secret: String?

        func run() throws {
            let found = try Grants.all().filter { grant in
                grant.program == program && (secret.map { $0 == Grants.words(grant.item) } ?? true)
            }
            guard !found.isEmpty else {
                throw CommandFailure(
                    "that program reads no such password without asking; 'touchstone bridge grants list' shows all of them",
                    status: 1)
            }
            for grant in found {
                var parameters = CredentialMessages.Parameters()
                (parameters.program, parameters.item) = (grant.program, grant.item)
                do throws(CredentialMessages.Failure) {
                    _ = try CredentialsClient.call("RevokeGrants", parameters, answersSecrets: false)
                } catch {
                    throw CommandFailure(error)
                }
            }
        }
    }
}
