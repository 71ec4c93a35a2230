import BridgeCore
import Foundation
import P11Token
import TouchstoneDevice

/// The device as the token needs it, for one client: who is named in the prompts.
struct ClientDevice: TokenDevice {
    let device: Device
    let store: KeyStore
    let approvals: Approvals
    let client: Client
    let isWaitedOn: @Sendable () -> Bool
    /// Takes why there was no signature.
    let refused: (BridgeFailure) -> Void

    func serialNumber() throws(TokenFailure) -> String {
        do { return try store.serialNumber() } catch { throw .away }
    }

    func keys() throws(TokenFailure) -> [TokenKey] {
        do { return try store.entries().map(\.key) } catch { throw .away }
    }

    func sign(_ digest: [UInt8], with key: TokenKey) throws(TokenFailure) -> [UInt8] {
        do throws(BridgeFailure) {
            guard let record = try store.entries().first(where: { $0.key.number == key.number })?.record else {
                throw .gone
            }
            // Where nobody is asked, nobody has to wait for a turn either.
            guard record.protection != .nothing else { return try store.sign(digest, with: record) }
            // What a digest is of nobody here can tell, and that is said (PK-17).
            var request = ApprovalRequest(
                client: client, item: record.name, purpose: "sign", destination: "digest",
                reason:
                    "sign with the key “\(Sentence.short(record.name))” a digest, of which only that program knows what it is of",
                facts: [Fact(.item, "key \(record.name)")])
            request.reuse = record.reuse
            return try approvals.perform(request, while: isWaitedOn) { proof throws(DeviceError) in
                Array(try proof.sign(Data(digest), with: record.key, label: record.name))
            }
        } catch {
            refused(error)
            throw failure(error)
        }
    }

    func makeKey(label: String?, identifier: [UInt8]?) throws(TokenFailure) -> TokenKey {
        do throws(BridgeFailure) {
            return try store.create(
                KeyStore.Wish(
                    name: label, identifier: identifier.map { Data($0) },
                    madeBy: client.executable ?? "a program that could not be identified")
            ).key
        } catch {
            switch error {
            case .invalid: throw .taken
            case .busy: throw .full
            default: throw failure(error)
            }
        }
    }

    private func failure(_ failure: BridgeFailure) -> TokenFailure {
        switch failure {
        case .cancelled: .cancelled
        case .locked: .locked
        case .gone: .dead
        case .denied, .invalid: .denied
        case .busy, .displaced, .clientGone: .unavailable
        // Whether nobody can be asked, or the device itself does not answer (PK-16).
        case .unavailable: (try? device.call("io.touchstone.Device.GetStatus")) == nil ? .away : .unavailable
        }
    }
}
