import BridgeCore
import CredentialProtocol

/// What the owner reads before several secrets are opened (EX-2).
///
/// Which secrets go out, this program says: from what is kept. What the client says stands in quotation marks.
struct ShownSecrets {
    private static let mostLabels = 5
    /// So that five labels and the command are within the 256 characters of a sentence.
    private static let labelCount = 28

    /// The sentence.
    let reason: String
    /// The secrets with the client's names for them, and the command.
    let facts: [Fact]

    /// Nil where there is not one name for each, or a secret has no reference.
    ///
    /// - Parameters:
    ///   - items: What is kept.
    ///   - names: What the client calls each of them; nil where it has no names.
    ///   - command: What is run with them; nil where they are read.
    init?(_ items: [CredentialMessages.Item], names: [String]?, command: String?) {
        guard names.map({ $0.count == items.count }) ?? true else { return nil }
        var labels: [String] = []
        for item in items {
            // Encoded, so that the name of one secret never looks like two.
            guard let reference = SecretReference(service: item.place, account: item.account ?? "") else { return nil }
            labels.append(String(reference.description.dropFirst(SecretReference.prefix.count)))
        }
        let rest = labels.count - Self.mostLabels
        let more = rest > 0 ? " and \(rest) more" : ""
        let count = labels.count == 1 ? "1 secret" : "\(labels.count) secrets"
        let shown = labels.prefix(Self.mostLabels)
        // The secrets first: where the sentence has to be cut, its end goes.
        let listed = "\(count) (\(shown.map(Self.short).joined(separator: ", "))\(more))"
        reason = command.map { "give \(listed) to “\(Sentence.short($0))”" } ?? "read \(listed)"
        var facts = shown.enumerated().map { index, label in
            let name = names.map { " as “\(Sentence.short($0[index]))”" } ?? ""
            return Fact(.secrets, Sentence.short(label) + name)
        }
        if rest > 0 { facts.append(Fact(.secrets, "\(rest) more")) }
        if let command { facts.append(Fact(.command, String(Sentence.printable(command).prefix(255)))) }
        self.facts = facts
    }

    /// Both ends of a label that is long.
    private static func short(_ label: String) -> String {
        let half = (labelCount - 1) / 2
        return label.count > labelCount ? "\(label.prefix(half))…\(label.suffix(half))" : label
    }
}
