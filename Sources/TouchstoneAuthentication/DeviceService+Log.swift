import TouchstoneCore
import TouchstoneTransport

extension DeviceService {
    var logging: [VarlinkHandler] {
        [
            .deferred(DeviceInterface.ReadLog.self) { [self] request, call in
                guard call.wantsMore else { return call.fail(VarlinkServiceError.ExpectedMore()) }
                call.connection.perform { [self] in
                    do {
                        try checkOwner(call.connection)
                        request.follow ? try follow(request, call) : try read(request, call)
                    } catch let error as any VarlinkError {
                        call.fail(error)
                    } catch {
                        call.fail(DeviceInterface.Refused(.notKept))
                    }
                }
            },
            owner(DeviceInterface.CheckLog.self) { [self] in try enclave.call(EnclaveInterface.CheckLog.self, $0) },
            .deferred(DeviceInterface.GetLogHead.self) { [self] _, call in
                do {
                    try checkOwner(call.connection)
                    let reply = try enclave.call(EnclaveInterface.GetLogHead.self, Empty())
                    log.whenTaken(reply.head.sequence) { call.reply(reply) }
                } catch {
                    call.answer(.failure(error))
                }
            },
        ]
    }

    private func read(
        _ request: DeviceInterface.ReadLog.Parameters, _ call: VarlinkCall<DeviceInterface.ReadLog>
    ) throws {
        var lines: [String] = []
        for line in try log.lines(newest: request.newest) {
            lines.append(line)
            guard lines.count == DeviceInterface.logLinesPerMessage else { continue }
            guard call.continueWhenTaken(.init(lines: lines)) else { return }
            lines = []
        }
        call.reply(.init(lines: lines))
    }

    private func follow(
        _ request: DeviceInterface.ReadLog.Parameters, _ call: VarlinkCall<DeviceInterface.ReadLog>
    ) throws {
        let follower = try log.follow(newest: request.newest) { call.continue(.init(lines: $0)) }
        call.connection.onClose { [log] in log.unfollow(follower) }
    }
}
