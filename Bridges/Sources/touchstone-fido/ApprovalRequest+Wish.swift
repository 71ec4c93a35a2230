import BridgeCore
import CTAP

extension ApprovalRequest {
    /// What the owner reads: the site and the accounts are words of a program that nobody knows (FD-5, FD-35).
    init(_ wish: Wish) {
        func quoted(_ text: String) -> String { "“\(Sentence.short(text))”" }
        let (item, purpose, reason): (String, String, String) =
            switch wish {
            case .create(let site, _, let replaces):
                (
                    site, "create a passkey",
                    "create a passkey for \(quoted(site))\(replaces ? ", in place of the one of this account" : "")"
                )
            case .signIn(let site, _): (site, "sign in", "sign you in to \(quoted(site))")
            case .alreadyHere(let site):
                (site, "say what is here", "say that a passkey for \(quoted(site)) is on this computer already")
            case .choose: ("", "choose", "use the passkeys of this computer")
            case .allow(let permissions, let site, let accounts):
                (
                    site ?? "", Self.purpose(permissions),
                    Self.reasons(permissions, site.map(quoted), isReplacing: !accounts.isEmpty)
                )
            case .delete(let site, _): ("remove", "remove", "delete the passkey for \(quoted(site)) for ever")
            }
        let (site, accounts): (String?, [String]) =
            switch wish {
            case .create(let site, let account, _): (site, account.map { [$0] } ?? [])
            case .signIn(let site, let accounts): (site, accounts)
            case .alreadyHere(let site): (site, [])
            case .choose: (nil, [])
            case .allow(_, let site, let accounts): (site, accounts)
            case .delete(let site, let account): (site, account.map { [$0] } ?? [])
            }
        var facts: [Fact] = []
        func say(_ kind: Fact.Kind, _ text: String) { facts.append(Fact(kind, "“\(Sentence.printable(text))”")) }
        if let site { say(.site, site) }
        // As many as are read at a glance.
        for account in accounts.prefix(5) { say(.account, account) }
        self.init(client: .unknown, item: item, purpose: purpose, destination: nil, reason: reason, facts: facts)
        stranger = " for a program on this computer (browsers do this)"
    }

    /// The same as of the requests that the token is for: a no to the one is a no to the other.
    private static func purpose(_ permissions: Permissions) -> String {
        if permissions.contains(.credentialManagement) { return "list passkeys" }
        return permissions.contains(.makeCredential) ? "create a passkey" : "sign in"
    }

    private static func reasons(_ permissions: Permissions, _ site: String?, isReplacing: Bool) -> String {
        var reasons: [String] = []
        let named = site.map { " for \($0)" } ?? ""
        if permissions.contains(.makeCredential) {
            reasons.append(
                "create a passkey\(named)" + (isReplacing ? ", which may take the place of one that is here" : ""))
        }
        if permissions.contains(.getAssertion), let site { reasons.append("sign you in to \(site)") }
        if permissions.contains(.credentialManagement) {
            reasons.append("list your passkeys\(named) and change the names of their accounts")
        }
        return reasons.joined(separator: ", or ")
    }
}
