package import Foundation
import Glibc
package import TouchstoneTransport

/// The device that calls in this task go to.
package enum DeviceEndpoint {
    /// Set by `TouchstoneTesting` for the scope of one simulated device.
    @TaskLocal package static var scoped: (any VarlinkEndpoint)?

    /// What to use outside a scope: set by `TouchstoneTesting` while simulated devices live in this process.
    package static let fallback = FallbackEndpoint()

    /// As `DevicePaths.selected().socket`, without a copy of the whole environment: every keychain call asks.
    private static func selected() -> DeviceSocket {
        func variable(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }
        let device = DevicePaths.selectedName(variable(DevicePaths.environmentVariable))
        let path = DevicePaths.socketPath(device: device, runtimeDirectory: variable("XDG_RUNTIME_DIR"))
        return DeviceSocket(path: path, device: device)
    }

    /// The device this call means: the one in scope, else the process's simulated one, else the one named by `TOUCHSTONE_DEVICE`, else
    /// the system's.
    package static func current() -> any VarlinkEndpoint {
        scoped ?? fallback.value ?? selected()
    }
}

/// The socket of a device of this machine.
package struct DeviceSocket: VarlinkEndpoint {
    private let socket: SocketEndpoint
    private let device: String

    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - device: The name of the device whose socket it is, by which the enclave's key is found.
    package init(path: String, device: String) {
        socket = SocketEndpoint(path: path)
        self.device = device
    }

    package var identifier: String? { socket.identifier }
    package func connect() throws(TransportError) -> any VarlinkChannel { try socket.connect() }
    package func passcodeKey() throws(PasscodeKeyError) -> Data {
        try PasscodeKeyFile(DevicePaths(name: device).passcodeKey).read()
    }
}

/// The device that is current when it is needed: for what may be made before there is one, such as the property of a test's class.
package struct LateEndpoint: VarlinkEndpoint {
    package init() {}

    package var target: any VarlinkEndpoint { DeviceEndpoint.current() }
    package var identifier: String? { target.identifier }
    package var refusalLines: RefusalLines? { target.refusalLines }
    package func passcodeKey() throws(PasscodeKeyError) -> Data { try target.passcodeKey() }
    package func connect() throws(TransportError) -> any VarlinkChannel { try target.connect() }
}
