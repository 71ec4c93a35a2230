/// What makes two items of two providers the same one (SS-52): equal attributes.
///
/// Notes have no attribute but their kind, so those are the same only with the same label.
struct ItemIdentity: Hashable {
    /// Without the kind that says nothing, which gnome-keyring adds now and then.
    let attributes: [String: String]
    private let label: String?

    init(label: String, _ attributes: [String: String]) {
        self.attributes = attributes.filter { $0 != (key: Self.kind, value: "org.freedesktop.Secret.Generic") }
        self.label = self.attributes.keys.allSatisfy { $0 == Self.kind } ? label : nil
    }

    private static let kind = "xdg:schema"
}
