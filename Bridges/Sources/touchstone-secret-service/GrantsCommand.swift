import ArgumentParser
import BridgeBus
import BridgeCore
import Foundation
import SecretServiceModel
import TouchstoneDevice

/// What programs read without a question (BR-33).
struct GrantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants", abstract: "List and revoke what programs read without asking you.",
        subcommands: [List.self, Revoke.self])

    /// A grant, and the password that it is for.
    fileprivate struct Grant {
        var kept: SecretKeychain.KeptGrant
        var label: String
        /// Whether the program stored it itself.
        var isOwn: Bool

        var program: String {
            kept.program.path.isEmpty ? "a program that is not named" : Sentence.printable(kept.program.path)
        }
    }

    /// All of them, in the order of programs and labels.
    fileprivate static func all(_ keychain: SecretKeychain) throws -> [Grant] {
        try finish { () async throws(BridgeFailure) in
            let all = try await keychain.contents(removesUnfinished: false).items
            let items = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
            let own = all.compactMap { item in
                item.description.grantee.map {
                    SecretKeychain.KeptGrant(item: item.name, program: $0, since: item.created)
                }
            }
            return (own + (try await keychain.grants())).compactMap { kept in
                items[kept.item].map {
                    Grant(kept: kept, label: $0.label, isOwn: $0.description.maker == kept.program.path)
                }
            }.sorted { ($0.kept.program.path, $0.label, $0.kept.item) < ($1.kept.program.path, $1.label, $1.kept.item) }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List them: the program, the password, and since when.",
            discussion: """
                You are asked first, because the list says which accounts you have. What is granted for a time, as to
                secret-tool, is not in it. Example: touchstone bridge grants list
                """)

        @Flag(help: "As JSON.") var json = false

        private struct Shown: Encodable {
            var secret: String
            var program: String
            var digest: String?
            var since: String
            var isOwn: Bool
        }

        func run() throws {
            _ = BridgeProcess.harden()
            let device = try Place.device()
            let grants = try GrantsCommand.all(SecretKeychain(device: device))
            if let first = grants.first { try ask(first.kept.item, device) }
            if json {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
                let shown = grants.map {
                    Shown(
                        secret: $0.label, program: $0.program, digest: $0.kept.program.digest,
                        since: Self.date($0).formatted(.iso8601), isOwn: $0.isOwn)
                }
                return BridgeProcess.say(String(decoding: try encoder.encode(shown), as: UTF8.self))
            }
            for grant in grants {
                let why = grant.isOwn ? "which it stored itself" : "which you approved"
                let condition = grant.kept.program.digest == nil ? "" : ", while its file is the same"
                BridgeProcess.say(
                    "\(grant.program) reads “\(Sentence.printable(grant.label))”, \(why), "
                        + "since \(Self.date(grant).formatted(.iso8601).prefix(10))\(condition)")
            }
        }

        private static func date(_ grant: Grant) -> Date { Date(timeIntervalSince1970: Double(grant.kept.since)) }

        /// The owner proves to be there by opening the key of one item, which is then forgotten.
        private func ask(_ item: String, _ device: Device) throws {
            let process = ClientProcess(processID: getpid())
            let client = process.flatMap { process in
                process.executable.map { Client.known(process, executable: $0) }
            }
            let request = ApprovalRequest(
                client: client ?? .unknown, item: "passwords", purpose: "list", destination: nil,
                reason: "list which passwords programs read without asking you")
            _ = try finish { () async throws(BridgeFailure) in
                try Approvals(device: device).perform(request, while: { true }) { proof throws(DeviceError) in
                    try SecretKeychain.keys(of: [item], proof)
                }
            }
        }
    }

    struct Revoke: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Stop a program from reading without asking you.",
            discussion: """
                You are not asked, because this only takes a right away. The service has to run.

                Example: touchstone bridge grants revoke /usr/lib/chromium/chromium

                Exit status: 0 they are revoked; 1 the program reads no such password.
                """)

        @OptionGroup var place: Place
        @Argument(help: "The path of the program, as the list shows it.") var program: String
        @Argument(help: "One password, as the list shows it; without it all that the program reads.") var secret:
            String?

        func run() throws {
            let grants = try GrantsCommand.all(SecretKeychain(device: try Place.device())).filter { grant in
                grant.program == program && (secret.map { $0 == Sentence.printable(grant.label) } ?? true)
            }
            guard !grants.isEmpty else {
                BridgeProcess.log(
                    "that program reads no such password without asking; 'touchstone bridge grants list' shows all of them"
                )
                throw ExitCode.failure
            }
            let pairs = grants.map { BusValue.structure([.string($0.kept.item), .string($0.kept.program.row)]) }
            let connection = try place.connect()
            do throws(BusFailure) {
                _ = try connection.call(
                    Program.name, SecretService.GrantObject.path, SecretService.GrantObject.interface, "RevokeGrants",
                    [.array("(ss)", pairs)])
            } catch {
                throw ValidationError(
                    "touchstone-secret-service did not do it (\(error)); 'touchstone bridge status' says whether it runs"
                )
            }
        }
    }
}
