import BridgeCore
import CredentialProtocol
import Foundation

/// Programs that read what they were granted, and nothing else (BR-30…33).
extension Credentials {
    /// The copies of secrets that the asking program was granted.
    ///
    /// - Returns: In their order; nil where the owner has to be asked about one of them.
    func grantedSecrets(_ rows: [CredentialRow], _ asker: Asker) throws(BridgeFailure) -> [Data]? {
        guard let process = asker.grantee, let path = process.executable else { return nil }
        var kept: [ProgramIdentity] = []
        for row in rows {
            guard let grant = try keychain.grants(of: row.value).first(where: { $0.program.path == path }) else {
                return nil
            }
            kept.append(grant.program)
        }
        // Its file is read only now, since few programs have a grant.
        guard let program = ProgramIdentity(process), kept.allSatisfy({ $0 == program }) else { return nil }
        var secrets: [Data] = []
        for row in rows {
            do throws(BridgeFailure) {
                secrets.append(try keychain.copy(of: row.value, for: program))
            } catch .gone {
                // Taken away meanwhile.
                return nil
            }
        }
        guard process.executable == path else { return nil }
        BridgeProcess.log("touchstone-credentials: \(Sentence.printable(path)) read what it was granted")
        return secrets
    }

    /// Lets programs read a secret that was just stored, unless it was stored over or deleted since that change of its row.
    func grant(
        _ secret: Data, of value: String, _ kind: Item.Kind, to programs: [ProgramIdentity], after change: Int = 0
    ) throws(BridgeFailure) {
        let keychain = keychain
        try changes.whileLast(change, of: value) { () throws(BridgeFailure) in
            for program in Set(programs) {
                try keychain.grant(secret, of: value, kind, to: program)
                BridgeProcess.log("touchstone-credentials: \(Sentence.printable(program.path)) was granted a secret")
            }
        }
    }

    /// What the owner reads of them where a secret is stored over.
    static func sentence(lettingIn programs: [ProgramIdentity]) -> String {
        guard let first = programs.first else { return "" }
        let more = programs.count > 1 ? " and \(programs.count - 1) more" : ""
        return ", and let “\(Sentence.short(first.path))”\(more) read it without asking"
    }

    // MARK: The owner's view of them

    func listGrants() throws(BridgeFailure) -> Results {
        var results = Results()
        results.grants = try kept().map(\.grant)
        return results
    }

    /// Takes grants away: of one program, one item, or both.
    ///
    /// It only takes away, so nobody is asked.
    func revokeGrants(_ parameters: CredentialMessages.Parameters) throws(BridgeFailure) -> Results {
        guard parameters.program != nil || parameters.item != nil else { throw .invalid }
        let revoked = try kept().filter { _, grant in
            (parameters.program.map { $0 == grant.program } ?? true)
                && (parameters.item.map { $0 == grant.item } ?? true)
        }
        for (value, grant) in revoked {
            try keychain.revoke(value, grant.program)
            BridgeProcess.log("touchstone-credentials: a grant of \(Sentence.printable(grant.program)) was revoked")
        }
        var results = Results()
        results.count = revoked.count
        return results
    }

    /// All of them, with the account of the row whose secret each copies.
    private func kept() throws(BridgeFailure) -> [(value: String, grant: CredentialMessages.Grant)] {
        let grants = try keychain.grants()
        guard !grants.isEmpty else { return [] }
        var items: [String: Item] = [:]
        for kind in [Item.Kind.secret, .git] {
            for row in try keychain.rows(Item(kind: kind, place: ""), everyPlace: true) { items[row.value] = row.item }
        }
        return grants.compactMap { grant in
            items[grant.value].map { item in
                (
                    grant.value,
                    CredentialMessages.Grant(
                        item: item, program: grant.program.path, digest: grant.program.digest, since: grant.since)
                )
            }
        }
    }
}
