import BridgeCore
import Foundation
import P11RPC
import P11Token
import TouchstoneDevice

/// The token for whoever connects, and its management for the owner's command.
///
/// > Concurrency: Callable from any thread. Requests of one connection are answered in their order, those of others beside them (PK-18).
final class Bridge: Sendable {
    private let device: Device
    private let store: KeyStore
    private let approvals: Approvals
    private let managers: [String]

    /// - Parameters:
    ///   - device: Whose keys.
    ///   - managers: The paths of the owner's command: no other program changes or removes keys.
    init(device: Device, managers: [String]) {
        self.device = device
        self.managers = managers
        store = KeyStore(device: device)
        approvals = Approvals(device: device)
    }

    /// Serves a connection until it ends, and with it its sessions and prompts (PK-16).
    func serve(_ connection: ClientConnection) {
        var refused = 0
        defer { if refused > 1 { BridgeProcess.log("refused \(refused - 1) more signatures of the same connection") } }
        do throws(ConnectionEnd) {
            // Whatever version the client would rather speak.
            guard try connection.receive(longest: 1, { $0.isEmpty ? .unknown : .bytes(1) }) != nil else { return }
            try connection.send([Frame.version])
            var token = Token()
            while let bytes = try connection.receive(
                longest: Frame.longest, { MessageLength(Frame.length($0)) })
            {
                guard let frame = Frame(bytes) else { throw .malformed }
                let client = try connection.look()
                let (call, answer) = answer(frame, client, &token, connection, &refused)
                // Whoever is gone, or somebody else by now, gets nothing (BR-11).
                _ = try connection.look()
                try connection.send(Frame(code: frame.code, body: answer.body(of: call)).bytes)
            }
        } catch {
            // The connection is over, and with it all that was for it.
        }
    }

    private func answer(
        _ frame: Frame, _ client: Client, _ token: inout Token, _ connection: ClientConnection, _ refused: inout Int
    ) -> (Call?, Answer) {
        do throws(ReturnValue) {
            let (call, request) = try Request.read(frame.body)
            if case .manage(let contents) = request { return (call, manage(contents, client)) }
            var failures: [BridgeFailure] = []
            let answer = withoutActuallyEscaping({ failures.append($0) }) { note in
                token.answer(
                    request,
                    ClientDevice(
                        device: device, store: store, approvals: approvals, client: client,
                        isWaitedOn: { connection.isWaitedOn }, refused: note))
            }
            for failure in failures {
                refused += 1
                guard refused == 1 else { continue }
                let asker = Sentence.printable(client.executable ?? "an unknown program")
                BridgeProcess.log("\(asker): no signature: \(failure)")
            }
            return (call, answer)
        } catch {
            return (nil, .failed(error))
        }
    }

    // MARK: Management

    /// Only for the owner's command, of which nobody else has the path.
    private func manage(_ contents: [UInt8], _ client: Client) -> Answer {
        guard let path = client.executable, managers.contains(path),
            let request = try? JSONDecoder().decode(ManagementRequest.self, from: Data(contents))
        else { return .failed(.functionNotSupported) }
        var answer: ManagementAnswer
        do throws(BridgeFailure) {
            answer = .keys(try manage(request).map { ManagementAnswer.Key(record: $0.record) })
        } catch {
            answer = .failed("\(error)")
        }
        guard let data = try? JSONEncoder().encode(answer) else { return .failed(.deviceError) }
        return .done([.bytes(Array(data))])
    }

    private func manage(_ request: ManagementRequest) throws(BridgeFailure) -> [KeyStore.Entry] {
        switch request {
        case .list: return try store.entries()
        case .create(let name, let protection, let wantsExplicitLogin):
            return [
                try store.create(
                    KeyStore.Wish(name: name, protection: protection, wantsExplicitLogin: wantsExplicitLogin))
            ]
        case .add(let name, let certificate):
            return [
                try store.change(name) { record throws(BridgeFailure) in
                    // Only one that is for this very key helps anybody.
                    guard let read = TokenCertificate(der: Array(certificate)), read.point == Array(record.publicKey)
                    else { throw .invalid }
                    record.certificate = certificate
                }
            ]
        case .set(let name, let reuse):
            guard (0...300).contains(reuse) else { throw .invalid }
            let entry = try store.change(name) { record throws(BridgeFailure) in record.reuse = reuse }
            // What was approved before was approved under other settings (BR-25).
            approvals.forget(item: name)
            return [entry]
        case .remove(let name):
            try store.remove(name)
            approvals.forget(item: name)
            return []
        }
    }
}
