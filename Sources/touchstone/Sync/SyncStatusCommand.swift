import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTransport

/// `touchstone sync status`.
struct SyncStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the circle, its store and what is wrong.",
        discussion: """
            A store can withhold everything that is new, and nobody can tell that from a quiet week. So the command \
            shows when each device was last heard.

            Example:
              touchstone sync status

            Exit status: 0 the device is in a circle; 1 it is in none; 69 it does not answer.
            """)

    @Flag(help: "As JSON: what the device says, and an object for the store.") var json = false
    @OptionGroup var option: DeviceOption

    func run() throws {
        let device = try DeviceClient(option.paths)
        let status = try device.circleStatus()
        let store = try StoreReport.read(device.paths)
        if json {
            guard case .object(var members) = try JSONValue(status) else { return }
            members["device"] = .text(device.paths.name)
            members["store"] = store.json
            try StandardOutput.json(JSONValue.object(members))
        } else if status.circle != nil {
            Self.lines(status, store, device.paths).forEach(StandardOutput.say)
        }
        guard status.circle != nil else { throw Failure.noCircle(device.paths) }
    }

    private static func lines(
        _ status: SyncInterface.GetStatus.Reply, _ store: StoreReport, _ paths: DevicePaths
    ) -> [String] {
        var lines = Table.lines(
            [
                ["Circle", "\(store.circle ?? "?"), \(status.members.count) members, key number \(status.epoch ?? 0)"],
                ["Store", PlainText.line(store.address ?? "none: 'touchstone sync leave', then join again")],
                ["Reached", store.problem.map { "no: \(PlainText.line($0))" } ?? "yes"],
                [
                    "touchstone-sync",
                    store.isRunning ? "runs" : "does not run; start it: \(SyncService.startCommand(paths))",
                ],
                [
                    "Waiting",
                    status.waiting == 0 ? "nothing" : "\(status.waiting) changes, until the device is unlocked",
                ],
                ["Ways back", status.waysBack],
            ]
                + (status.incoming.map {
                    [["Arriving", "\($0) items have come, and are on their way into the keychain"]]
                } ?? []))
        lines.append("")
        lines += status.memberLines
        if status.isExpired {
            lines.append("")
            lines.append(
                "This device was away for more than 180 days: 'touchstone sync leave', then join again. Its items stay."
            )
        }
        return lines
    }
}

/// `touchstone sync members`.
struct SyncMembersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "List the devices of the circle.",
        discussion: """
            Example:
              touchstone sync members

            Exit status: 0 they are listed; 1 the device is in no circle; 69 it does not answer.
            """)

    @Flag(help: "As JSON: an array of objects.") var json = false
    @OptionGroup var option: DeviceOption

    func run() throws {
        let device = try DeviceClient(option.paths)
        let status = try device.circleStatus()
        guard status.circle != nil else { throw Failure.noCircle(device.paths) }
        if json { return try StandardOutput.json(status.members.map { try JSONValue($0) }) }
        status.memberLines.forEach(StandardOutput.say)
    }
}

extension DeviceClient {
    func circleStatus() throws -> SyncInterface.GetStatus.Reply {
        do {
            return try client.call(SyncInterface.GetStatus.self, Empty())
        } catch {
            throw Failure.ofSync(error, paths)
        }
    }
}

extension SyncInterface.GetStatus.Reply {
    /// How the items come back if this device is lost.
    var waysBack: String {
        let devices = members.count { !$0.isThisDevice && !$0.isRecoveryKey }
        let keys = members.count(where: \.isRecoveryKey)
        let ways = [
            devices == 0 ? nil : devices == 1 ? "1 other device" : "\(devices) other devices",
            keys == 0 ? nil : keys == 1 ? "1 recovery key" : "\(keys) recovery keys",
        ].compactMap(\.self)
        let advice = keys == 0 ? "; 'touchstone sync recovery-key' makes one more" : ""
        guard !ways.isEmpty else {
            return "none: if this device is lost, only a backup has its items\(advice)"
        }
        return "\(devices + keys): \(ways.joined(separator: ", "))\(advice)"
    }

    /// A line for each member.
    var memberLines: [String] {
        Table.lines(
            members.map { member in
                [
                    PlainText.line(member.name), String(member.member.prefix(12)), member.heard, member.state,
                ]
            })
    }
}

extension SyncInterface.Member {
    fileprivate var heard: String {
        guard !isThisDevice else { return "this device" }
        guard !isRecoveryKey else { return "recovery key" }
        guard let lastHeard else { return "never heard" }
        let seconds = max(Date.now.timeIntervalSinceReferenceDate - lastHeard, 0)
        let units = [(86_400.0, "days"), (3600, "hours"), (60, "minutes")]
        guard let (size, unit) = units.first(where: { seconds >= 2 * $0.0 }) else { return "heard just now" }
        return "heard \(Int(seconds / size)) \(unit) ago"
    }

    fileprivate var state: String {
        switch fault {
        case .missing: "the store withholds or dropped something of it"
        case .rolledBack: "the store gave back an older state of it"
        case .forked: "it has another circle: remove it, and let it join again"
        case .clock: "its clock is more than a day ahead"
        case nil: isRecoveryKey ? "on paper" : isThisDevice || isComplete ? "complete" : "on its way"
        }
    }
}

/// What `touchstone-sync` says of the store.
struct StoreReport: Decodable {
    var address: String?
    var circle: String?
    var isRunning: Bool
    var problem: String?

    static func read(_ paths: DevicePaths) throws -> StoreReport {
        let step = try StoreConversation(paths, ["look"]).hear("store")
        guard let report = try? JSONDecoder().decode(StoreReport.self, from: Data((step.text ?? "").utf8)) else {
            throw Failure(.internalError, "touchstone-sync said something that is not a report")
        }
        return report
    }

    var json: JSONValue {
        .object([
            "address": address.map { .text($0) } ?? .null, "circle": circle.map { .text($0) } ?? .null,
            "isRunning": .flag(isRunning), "problem": problem.map { .text($0) } ?? .null,
        ])
    }
}
