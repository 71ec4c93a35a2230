import Foundation
import Glibc
import Testing
import TouchstoneCore

@testable import TouchstoneSystem
@testable import TouchstoneTransport

/// Where the system's device is, and whom a program means that names none.
@Suite struct SystemDeviceTests {
    private let system = DevicePaths(
        name: DevicePaths.systemName, environment: ["XDG_RUNTIME_DIR": "/x", "XDG_STATE_HOME": "/y"])

    @Test("no variable moves it") func places() {
        #expect(system.socket.path == "/run/touchstone/\(getuid())/touchstoned.sock")
        #expect(DevicePaths.socketPath(device: "system", runtimeDirectory: "/x") == system.socket.path)
        #expect(system.passcodeKey.path == "/var/lib/touchstone/\(getuid())/public/passcode.pub")
        #expect(
            DevicePaths(name: "mine", environment: ["XDG_RUNTIME_DIR": "/x"]).socket.path
                == "/x/touchstone/mine/touchstoned.sock")
    }

    @Test("a device that is named is meant; else the system's where it is there") func selected() {
        #expect(DevicePaths.selectedName("mine") == "mine")
        let isThere = FileManager.default.fileExists(atPath: system.state.path)
        #expect(DevicePaths.selectedName(nil) == (isThere ? "system" : "default"))
    }

    @Test("it is there when its directory is, whether or not anything listens") func exists() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(!DevicePaths.systemExists(in: directory.path))
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("\(getuid())"), withIntermediateDirectories: true)
        #expect(DevicePaths.systemExists(in: directory.path))
    }

    @Test("nothing that systemd passed to another process is taken") func sockets() {
        setenv("LISTEN_PID", "1", 1)
        setenv("LISTEN_FDS", "2", 1)
        defer {
            unsetenv("LISTEN_PID")
            unsetenv("LISTEN_FDS")
        }
        #expect(ServiceManager.takeSockets().isEmpty)
    }
}
