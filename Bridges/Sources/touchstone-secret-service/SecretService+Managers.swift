import BridgeBus
import BridgeCore
import SecretServiceModel
import TouchstoneDevice

/// Programs with which the owner looks at all passwords (SS-36).
///
/// Once they agreed, such a program lists them until it ends. To read or delete one it has to ask as before.
extension SecretService {
    /// A file that others than root can change does not count.
    private static let managerPrograms: Set = ["/usr/bin/seahorse", "/usr/bin/kwalletmanager5"]

    /// Whether a program lists what others stored.
    func lists(_ item: String, _ client: BusClient) -> Bool {
        managers[client.name] == true && sessionItems[item] == nil
    }

    /// Has the owner asked, once for each connection; the program hears of it when they agree.
    func offerManaging(_ client: BusClient) {
        guard let program = client.systemProgram, Self.managerPrograms.contains(program), isOpen,
            managers[client.name] == nil, let item = items.keys.first(where: { sessionItems[$0] == nil })
        else { return }
        managers[client.name] = false
        var request = ApprovalRequest(
            client: client.client, item: "passwords", purpose: "manage", destination: nil,
            reason: "manage all your stored passwords")
        request.longest = Times.prompt
        let (asked, approvals) = (request, approvals)
        let waiting = startWaiting(client, longest: Times.prompt)
        Task {
            // Opening one key is the proof; it is forgotten at once.
            let result = await onThread { () throws(BridgeFailure) in
                try approvals.perform(asked, while: { waiting.isOn }) { proof throws(DeviceError) in
                    _ = try SecretKeychain.keys(of: [item], proof)
                }
            }
            stopWaiting(client, waiting)
            if case .success = result { approveManaging(client) }
        }
    }

    private func approveManaging(_ client: BusClient) {
        guard clients[client.name] != nil else { return }
        managers[client.name] = true
        for name in collections.keys { announceItems(of: name, to: client) }
    }
}
