import Foundation
import Synchronization
import TouchstoneDevice

/// Tells the tabs the device's state, as long as there are tabs.
///
/// Events: `connection` (`{"isConnected": …}`), `status` (the reply of `GetStatus`), `apps` (what prompts called each app:
/// `[{"identifier": …, "name": …}]`), and for each feed its own, the replies of its method.
/// `feed` (`{"name": …, "isRunning": …}`) comes before a feed's first and after its last: what came before it is over.
///
/// Threads of their own wait for the device. With the last tab the streams end too, because a page that nobody sees must not be an agent.
final class DeviceWatch: Sendable {
    let tabs = Tabs()
    private let device: Device
    private let streams = Mutex<[String: DeviceStream]>([:])
    private let apps = Mutex(AppNames())

    init(_ device: Device, feeds: [Feed]) {
        self.device = device
        Thread.detachNewThread { [self] in watchStatus() }
        for feed in feeds { Thread.detachNewThread { [self] in relay(feed) } }
    }

    /// Something was done to the device: looks at it at once.
    func look() { tabs.poke() }

    private func watchStatus() {
        while true {
            tabs.waitUntilWatched()
            var known: Data?
            var wasConnected: Bool?
            while tabs.isWatched {
                let status = try? SimulatedStatus.read(device)
                if wasConnected != (status != nil) {
                    tabs.publish(
                        .init("connection", Data(#"{"isConnected":\#(status != nil)}"#.utf8)), keptAs: "connection")
                    wasConnected = status != nil
                }
                if let status, status.json != known {
                    // Another device may have taken its name.
                    guard status.isSimulated else { exit(Failure.notSimulated) }
                    tabs.publish(.init("status", status.json), keptAs: "status")
                }
                known = status?.json
                if status == nil { tabs.forget("status") }
                tabs.pause(status == nil ? Self.retrySeconds : Self.lookSeconds)
            }
            // A tab that opens later hears how the device is then.
            tabs.forget("status")
            for stream in streams.withLock({ $0.values.map(\.self) }) { stream.close() }
        }
    }

    private func relay(_ feed: Feed) {
        while true {
            tabs.waitUntilWatched()
            var pause = Self.retrySeconds
            do {
                let stream = try device.stream(feed.method, Data(feed.parameters.utf8))
                streams.withLock { $0[feed.name] = stream }
                announce(feed, isRunning: true)
                while tabs.isWatched, let reply = try stream.next() {
                    tabs.publish(.init(feed.name, reply), keptAs: feed.name, limit: feed.kept)
                    if feed.namesApps, let names = apps.withLock({ $0.take(reply) }) {
                        tabs.publish(.init("apps", names), keptAs: "apps")
                    }
                    if feed.tellsOfChange { look() }
                }
            } catch DeviceError.answered {
                // It will say the same again for a while.
                pause = Self.refusedSeconds
            } catch {}
            if streams.withLock({ $0.removeValue(forKey: feed.name) }) != nil { announce(feed, isRunning: false) }
            look()
            Thread.sleep(forTimeInterval: pause)
        }
    }

    private func announce(_ feed: Feed, isRunning: Bool) {
        tabs.forget(feed.name)
        tabs.publish(
            .init("feed", Data(#"{"name":"\#(feed.name)","isRunning":\#(isRunning)}"#.utf8)),
            keptAs: "feed \(feed.name)")
    }

    private static let lookSeconds = 5.0
    private static let retrySeconds = 0.1
    private static let refusedSeconds = 5.0
}

/// The part of a device's state that this program looks at.
struct SimulatedStatus {
    let isSimulated: Bool
    /// As it came.
    let json: Data

    static func read(_ device: Device) throws -> SimulatedStatus {
        struct Reply: Decodable {
            struct Status: Decodable { var isSimulated: Bool }
            var status: Status
        }
        let json = try device.call("io.touchstone.Device.GetStatus")
        guard let reply = try? JSONDecoder().decode(Reply.self, from: json) else { throw DeviceError.malformedReply }
        return SimulatedStatus(isSimulated: reply.status.isSimulated, json: json)
    }
}
