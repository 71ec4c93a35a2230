internal import Foundation
internal import Synchronization
internal import TouchstoneCore
internal import TouchstoneTransport

/// Says once in a process, on standard error, that there is no device and what would help.
enum UnreachableDevice {
    static func report(_ endpoint: any VarlinkEndpoint) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        guard isFirst else { return }
        FileHandle.standardError.write(Data((message(endpoint) + "\n").utf8))
    }

    static func message(_ endpoint: any VarlinkEndpoint) -> String {
        if endpoint.target is AmbiguousEndpoint {
            return "touchstone: several simulated devices live in this process and this call names none of them"
        }
        let name = DevicePaths.selected().name
        guard DevicePaths.isValid(name: name) else {
            return "touchstone: \(DevicePaths.environmentVariable) is not the name of a device"
        }
        let create = "touchstone device create \(name) && touchstone device boot \(name)"
        return "touchstone: no device \"\(name)\" is running; start one with: \(create)"
    }

    private static let isReported = Mutex(false)
}
