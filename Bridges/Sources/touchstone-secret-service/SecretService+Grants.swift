import BridgeBus
import BridgeCore
import SecretServiceModel

/// Takes grants away (BR-33).
///
/// Any program of the owner's may, since it only takes away. Nobody is told here what there is: the list asks the owner.
extension SecretService {
    enum GrantObject {
        static let path = "/io/touchstone/SecretService"
        static let interface = "io.touchstone.SecretService"
    }

    /// Answers what is called at the object for it; nil for all others.
    func grants(_ call: BusCall, _ client: BusClient) async throws(Refusal) -> Answer? {
        guard call.path == GrantObject.path else { return nil }
        switch (call.interface, call.member, call.signature) {
        case (GrantObject.interface, "RevokeGrants", "a(ss)"):
            let pairs = call.arguments[0].elements?.compactMap(Self.pair) ?? []
            guard pairs.count <= 4096 else { throw .limitsExceeded }
            return Answer(values: [.uint32(UInt32(try await revoke(pairs, client)))])
        case (GrantObject.interface, "RevokeGrants", _): throw .invalidArguments
        default: throw .unknownMethod
        }
    }

    private static func pair(_ value: BusValue) -> (item: String, row: String)? {
        guard case .structure(let parts) = value, parts.count == 2, let item = parts[0].text, let row = parts[1].text
        else { return nil }
        return (item, row)
    }

    /// Writes an item's row without the copy of its key; its dates stay.
    private func removeCopy(of name: String) async throws(BridgeFailure) {
        let sealed = try await keychain.sealedSecret(of: name)
        guard var item = items[name] else { throw .locked }
        item.description.grantee = nil
        item.description.modified = item.modified
        try await keychain.change(item, sealed: sealed.withoutCopy)
        if isOpen { items[name] = item }
    }

    /// - Returns: How many of them there were.
    private func revoke(_ pairs: [(item: String, row: String)], _ client: BusClient) async throws(Refusal) -> Int {
        try await open(for: client)
        return try await inTurn { () async throws(Refusal) in
            var count = 0
            for (item, row) in pairs where grants.kept[item]?.contains(row) == true {
                do throws(BridgeFailure) {
                    if items[item]?.description.grantee?.row == row { try await removeCopy(of: item) }
                    try await keychain.revoke(item, row)
                } catch { throw Refusal(error) }
                grants.revoke(item, row)
                count += 1
            }
            return count
        }
    }
}
