import BridgeCore
import Dispatch
import Foundation
import SyncEngine
import TouchstoneDevice

/// The device's `io.touchstone.Sync`, as an ordinary program of its owner has it.
final class DeviceCalls: SyncDevice {
    private let device: Device
    private let queue = DispatchQueue(label: "io.touchstone.sync.device")

    init(_ device: Device) { self.device = device }

    private struct After<Number: Encodable & Sendable>: Encodable, Sendable { var after: Number? }
    private struct Objects: Encodable, Sendable { var objects: [SealedObject] }
    private struct Verdicts: Decodable, Sendable { var verdicts: [Verdict] }
    private struct Links: Codable, Sendable { var links: [Data] }
    private struct Count: Decodable, Sendable { var count: Int }

    func objects(after: Int64?) async throws(DeviceFailure) -> OwnObjects {
        try await call("Sync.ListObjects", After(after: after))
    }

    func add(_ objects: [SealedObject]) async throws(DeviceFailure) -> [Verdict] {
        let reply: Verdicts = try await call("Sync.AddObjects", Objects(objects: objects))
        return reply.verdicts
    }

    func links(after: Int?) async throws(DeviceFailure) -> [Data] {
        let reply: Links = try await call("Sync.ListLinks", After(after: after))
        return reply.links
    }

    func addLinks(_ links: [Data]) async throws(DeviceFailure) -> Int {
        let reply: Count = try await call("Sync.AddLinks", Links(links: links))
        return reply.count
    }

    private func call<Reply: Decodable & Sendable>(
        _ method: String, _ parameters: some Encodable & Sendable
    ) async throws(DeviceFailure) -> Reply {
        let device = device
        let result: Result<Reply, DeviceFailure> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(DeviceFailure) -> Reply in
                        do throws(DeviceError) {
                            let connection = try device.connect()
                            defer { connection.close() }
                            return try connection.call(method, parameters)
                        } catch {
                            throw DeviceFailure(error, device: device.name)
                        }
                    })
            }
        }
        return try result.get()
    }
}

extension DeviceFailure {
    private struct Answer: Decodable {
        var reason: String?
        var status: Int?
    }

    init(_ error: DeviceError, device: String) {
        switch error {
        case .answered("io.touchstone.Sync.NoCircle", _): self = .noCircle
        case .answered(let name, let parameters):
            let answer = try? JSONDecoder().decode(Answer.self, from: parameters)
            switch name.split(separator: ".").last {
            case "Refused": self = .refused(answer?.reason ?? "no reason")
            case "NotOwner": self = .refused("the device \(device) belongs to somebody else")
            case "Failed":
                self = .unavailable("the keychain of \(device) cannot be read or written (\(answer?.status ?? 0))")
            case "InterfaceNotFound", "MethodNotFound":
                self = .unavailable("the device \(device) does not know synchronizing: its touchstoned is older")
            default: self = .unavailable("the device \(device) answers \(name)")
            }
        case .notBooted, .closed: self = .unavailable("the device \(device) does not answer: is it booted?")
        default: self = .unavailable("the device \(device) sent something that is not an answer")
        }
    }
}
