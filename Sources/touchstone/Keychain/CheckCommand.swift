import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem

/// `touchstone keychain check`.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Look for damage in the keychain, and repair it.",
        discussion: """
            On a booted device the command checks the database and every item whose class is open. It checks an item's \
            attributes, the tags by which it is found, and its secret if the owner need not be asked for it. Unlock \
            the device to check everything. On a device that is off, it checks only the database file.

            With --repair it puts damaged items aside: they stay in the database, and no app sees them. It makes again \
            what can be made again. It repairs a file with damaged pages while the device is off. It then copies every \
            item that can be read into a new file, and keeps the old file beside it.

            The device also knows which items with an access control there are. If another program puts an older item back, \
            or takes one away, no app gets the items of the same group. The command lists them as altered. Put the right \
            database back, or use --accept and type the passcode. Then the device takes the items as they are now.

            Exit status: 0 nothing is damaged or altered, or with --repair or --accept not any more; 1 something was found, or is \
            left; others as in 'touchstone --help'.
            """)

    @OptionGroup var option: DeviceArgument
    @Flag(help: "Repair what can be repaired, and put the rest aside.") var repair = false
    @Flag(help: "Accept altered items as they are now. Asks for the passcode.") var accept = false

    func validate() throws {
        if repair, accept { throw ValidationError("Use --repair first, and then --accept for what is still altered.") }
    }

    func run() throws {
        let paths = try option.paths
        try DeviceDirectory.check(paths)
        let isOff = SupervisorLock.holder(paths) == nil
        if accept, isOff { throw Failure(.unavailable, paths.advice) }
        let isWhole =
            isOff
            ? try KeychainFileCheck(paths, repairs: repair).run() : try checkItems(DeviceClient(paths))
        guard isWhole else { throw ExitCode(ExitStatus.no.rawValue) }
    }

    /// - Returns: Whether nothing is damaged (any more).
    private func checkItems(_ device: DeviceClient) throws -> Bool {
        var database: [String] = []
        var sum = BackupInterface.Check.Reply()
        var (damaged, altered) = (0, 0)
        var after: Int64?
        var progress = ProgressLine()
        repeat {
            let reply = try device.call(BackupInterface.Check.self, .init(after: after, repairs: repair))
            database += reply.database
            if after == nil { sum.total = reply.total }
            sum.checked += reply.checked
            sum.locked += reply.locked
            sum.expired += reply.expired
            sum.quarantined = reply.quarantined
            damaged += reply.damaged.count
            sum.alteredGroups = sum.alteredGroups ?? reply.alteredGroups
            sum.look = sum.look ?? reply.look
            altered += reply.altered?.count ?? 0
            if !reply.damaged.isEmpty || reply.altered != nil { progress.clear() }
            for row in reply.altered ?? [] { StandardOutput.say(Self.line(row)) }
            for row in reply.damaged { StandardOutput.say(Self.line(row, isRepaired: repair)) }
            progress.show("\(sum.checked) of \(sum.total) items")
            after = reply.next
        } while after != nil
        progress.clear()
        for line in database { StandardOutput.say("database: \(PlainText.line(line))") }
        StandardOutput.say(Self.summary(sum, damaged: damaged, isRepaired: repair))
        if !database.isEmpty {
            StandardError.say(
                "the file itself is damaged; run 'touchstone device shutdown \(device.paths.name)', "
                    + "then 'touchstone keychain check --repair'")
        }
        let isAccepted = try handleAltered(sum.alteredGroups ?? 0, sum.look, items: altered, device)
        return database.isEmpty && (damaged == 0 || repair) && isAccepted
    }

    /// - Returns: Whether nothing is altered (any more).
    private func handleAltered(
        _ groups: Int, _ look: String?, items: Int, _ device: DeviceClient
    ) throws -> Bool {
        guard groups > 0 else { return true }
        guard let look else {
            StandardError.say(
                "not all items with an access control could be read, so nobody can say whether they were altered; repair the "
                    + "file first")
            return false
        }
        guard accept else {
            StandardError.say(
                "another program has put older items back, or taken items away, in \(groups) "
                    + "\(groups == 1 ? "group" : "groups") of items with an access control: apps are not given the "
                    + "\(items) that are listed as altered. Put the right database back, or have the device take them as they "
                    + "are: 'touchstone keychain check --accept'")
            return false
        }
        try device.checkPasscodeKey()
        let passcode = try PasscodeEntry.current()
        _ = try device.enter(DeviceInterface.AcceptItems.self, typed: passcode, for: .acceptItems(look: look)) {
            .init(look: look, passcode: $0)
        }
        StandardOutput.say("accepted: \(groups) \(groups == 1 ? "group" : "groups"), \(items) items")
        return true
    }

    static func line(_ row: BackupInterface.AlteredRow) -> String {
        let created = row.created.map {
            ", created \(Date(timeIntervalSinceReferenceDate: $0).formatted(.iso8601))"
        }
        return
            "altered: \(PlainText.line(row.itemClass)) item \(row.row) of \(PlainText.line(row.app.rawValue))\(created ?? "")"
    }

    static func line(_ row: BackupInterface.DamagedRow, isRepaired: Bool) -> String {
        let what =
            switch row.problem {
            case .malformed: "is not a complete item"
            case .attributes: "its attributes do not open"
            case .tags: "is not found by its attributes"
            case .secret: "its secret does not open"
            }
        let kind = row.itemClass.map { " \(PlainText.line($0))" } ?? ""
        let protection = row.protection.map { ", class \(PlainText.line($0))" } ?? ""
        let created =
            row.created.map {
                ", created \(Date(timeIntervalSinceReferenceDate: $0).formatted(.iso8601))"
            } ?? ""
        let outcome = !isRepaired ? "" : row.problem == .tags ? ": repaired" : ": put aside"
        return "damaged:\(kind) item \(row.row)\(protection)\(created): \(what)\(outcome)"
    }

    static func summary(_ sum: BackupInterface.Check.Reply, damaged: Int, isRepaired: Bool) -> String {
        var parts = ["\(sum.checked - sum.locked) items checked", "\(damaged) damaged"]
        if sum.locked > 0 { parts.append("\(sum.locked) not checked; unlock the device to check them") }
        if sum.expired > 0 { parts.append("\(sum.expired) made unreadable by their owner") }
        if sum.quarantined > 0 { parts.append("\(sum.quarantined) put aside, now or earlier") }
        return parts.joined(separator: "; ")
    }
}
