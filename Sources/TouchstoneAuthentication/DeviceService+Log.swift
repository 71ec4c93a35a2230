import Synchronization
import TouchstoneCore
import TouchstoneEnclaveClient
import TouchstoneEnclaveInterface
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneTransport

extension DeviceService {
    var logging: [OwnerHandler] {
        [
            .deferred(DeviceInterface.ReadLog.self, wantsMore: true) { [self] request, call, owner in
                do {
                    request.follow ? try follow(request, call, owner) : try read(request, call, owner)
                } catch let error as any VarlinkError {
                    call.fail(error)
                } catch {
                    call.fail(DeviceInterface.Refused(.notKept))
                }
            },
            owner(DeviceInterface.CheckLog.self) { [self] in try enclave.call(EnclaveInterface.CheckLog.self, $0) },
            .deferred(DeviceInterface.GetLogHead.self) { [self] _, call, _ in
                do {
                    log.flush()
                    let reply = try enclave.call(EnclaveInterface.GetLogHead.self, Empty())
                    log.whenTaken(reply.head.sequence) { call.reply(reply) }
                } catch {
                    call.answer(.failure(error))
                }
            },
        ]
    }

    private func read(
        _ request: DeviceInterface.ReadLog.Parameters, _ call: VarlinkCall<DeviceInterface.ReadLog>, _ owner: IsOwner
    ) throws {
        guard send(try log.lines(newest: request.newest), call) else { return }
        call.reply(.init(lines: []))
    }

    private func follow(
        _ request: DeviceInterface.ReadLog.Parameters, _ call: VarlinkCall<DeviceInterface.ReadLog>, _ owner: IsOwner
    ) throws {
        // New lines, for as long as those that were there before are being told.
        let waiting = Waiting()
        let (lines, follower) = try log.follow(newest: request.newest, process: call.connection.peer.processID) { new in
            switch waiting.add(new) {
            case .waits: break
            case .isTooMany: call.drop()
            case .isNext:
                // What waits for one that does not read has an end.
                guard call.connection.isReading else { return call.drop() }
                call.continue(.init(lines: new))
            }
        }
        call.connection.onClose { [log] in log.unfollow(follower) }
        guard send(lines, call) else { return }
        while let new = waiting.take() {
            guard send(new, call) else { return }
        }
    }

    /// - Returns: Whether the peer has taken them all.
    private func send(_ lines: some Sequence<String>, _ call: VarlinkCall<DeviceInterface.ReadLog>) -> Bool {
        for batch in LogBatches(lines) {
            guard call.continueWhenTaken(.init(lines: batch)) else { return false }
        }
        return true
    }

    /// New lines that wait until it is their turn.
    private final class Waiting: Sendable {
        enum Addition { case waits, isTooMany, isNext }

        /// nil once nothing waits any more.
        private let lines = Mutex<[String]?>([])
        private static let maximum = 1024

        func add(_ new: [String]) -> Addition {
            lines.withLock { lines in
                guard let count = lines?.count else { return .isNext }
                guard count + new.count <= Self.maximum else { return .isTooMany }
                lines? += new
                return .waits
            }
        }

        func take() -> [String]? {
            lines.withLock { lines in
                guard let waiting = lines, !waiting.isEmpty else {
                    lines = nil
                    return nil
                }
                lines = []
                return waiting
            }
        }
    }
}
