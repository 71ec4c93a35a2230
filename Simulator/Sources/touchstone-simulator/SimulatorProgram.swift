import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import TouchstoneDevice

/// Serves the page of a simulated device, or of two side by side, on 127.0.0.1, until it is ended.
///
/// `touchstone simulator` starts it.
@main
enum SimulatorProgram {
    static func main() async {
        do {
            // Passcodes pass through this program, and a core is a file.
            var none = rlimit()
            guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
                throw POSIXError(.EPERM)
            }
            let arguments = CommandLine.arguments.dropFirst()
            guard !arguments.contains("--version") else { return say(version) }
            let options = try Options(arguments)
            let app = try ProcessInfo.processInfo.environment[ShownApp.variable].map { try ShownApp($0) }
            try await serve(try options.devices.map { try Device(named: $0) }, port: options.port, app: app)
        } catch let failure as Failure {
            end(failure)
        } catch DeviceError.notBooted {
            end(Failure(status: Failure.unavailable, message: "the device is not booted"))
        } catch DeviceError.invalidName {
            end(Failure(status: Failure.usage, message: Options.usage))
        } catch {
            end(Failure(status: Failure.unavailable, message: "\(error)"))
        }
    }

    /// The app stands beside the first device.
    private static func serve(_ devices: [Device], port: Int, app: ShownApp?) async throws {
        for device in devices {
            guard try SimulatedStatus.read(device).isSimulated else {
                throw Failure(status: Failure.notSimulated, message: "\(device.name) is not a simulated device")
            }
        }
        let door = Door()
        let visitors = Visitors(maximum: maximumUnknownConnections)
        var log = Logger(label: "touchstone-simulator")
        log.logLevel = .error
        let server = Application(
            responder: PageServer(
                door: door, visitors: visitors,
                pages: devices.enumerated().map { DevicePage($1, app: $0 == 0 ? app : nil) }),
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [Visitors.Handler(visitors)], idleTimeout: .seconds(10))),
            configuration: .init(
                address: .hostname("127.0.0.1", port: port), reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(maximumConnections)),
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                door.open(port: port)
                let names = devices.map(\.name).joined(separator: " and ")
                say("\(names) \(devices.count == 1 ? "is" : "are") at http://127.0.0.1:\(port)/\(door.token)/")
            },
            logger: log)
        // Nothing has to be cleaned up: signals end the process, and the kernel closes its connections.
        try await server.run()
    }

    /// The other programs have the same.
    private static let version = "0.1.0"

    private static func say(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }

    private static func end(_ failure: Failure) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("touchstone-simulator: \(failure.message)\n".utf8))
        exit(failure.status)
    }

    /// One for each tab's stream, and a few for what it fetches and calls.
    private static let maximumConnections = 64
    /// Of these, those that have not asked for anything below the page's address.
    private static let maximumUnknownConnections = 24
}

/// Why the page is not served.
struct Failure: Error {
    var status: Int32
    var message: String

    /// The exit statuses of `touchstone`.
    static let notSimulated: Int32 = 7
    static let usage: Int32 = 64
    static let unavailable: Int32 = 69
}

/// The command line.
struct Options {
    var devices = ["simulator"]
    var port = 0

    static let usage = "usage: touchstone-simulator [--device NAME] [--beside NAME] [--port NUMBER]"

    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        var beside: String?
        while let name = arguments.next() {
            guard let value = arguments.next() else { throw Failure(status: Failure.usage, message: Self.usage) }
            switch name {
            case "--device": devices = [value]
            case "--beside": beside = value
            case "--port":
                guard let number = UInt16(value) else { throw Failure(status: Failure.usage, message: Self.usage) }
                port = Int(number)
            default: throw Failure(status: Failure.usage, message: Self.usage)
            }
        }
        if let beside { devices.append(beside) }
    }
}
