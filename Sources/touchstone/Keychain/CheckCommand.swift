import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneSystem

/// `touchstone keychain check`.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Look for damage in the keychain, and mend it.",
        discussion: """
            On a booted device the database is checked, and every item whose class is open: its attributes, the tags it is found \
            by, and its secret, as far as the owner need not be asked. Unlock the device to have all looked at. On a device that is \
            off, the database file alone is checked.

            With --repair damaged items are put aside: they are kept in the database, and no app sees them. What can be made anew \
            is. A file with damaged pages is mended while the device is off: every item that can be read is copied into a fresh \
            file, and the old one is kept beside it.

            Exit status: 0 nothing is damaged, or with --repair nothing is damaged any more; 1 damage was found, or is left; \
            others as in 'touchstone --help'.
            """)

    @OptionGroup var option: DeviceArgument
    @Flag(help: "Mend what can be mended; put the rest aside.") var repair = false

    func run() throws {
        let paths = try option.paths
        try DeviceDirectory.check(paths)
        let isWhole =
            SupervisorLock.holder(paths) == nil
            ? try KeychainFileCheck(paths, repairs: repair).run() : try checkItems(DeviceConnection(paths))
        guard isWhole else { throw ExitCode(ExitStatus.no.rawValue) }
    }

    /// - Returns: Whether nothing is damaged (any more).
    private func checkItems(_ device: DeviceConnection) throws -> Bool {
        var database: [String] = []
        var sum = BackupInterface.Check.Reply()
        var damaged = 0
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
            if !reply.damaged.isEmpty { progress.clear() }
            for row in reply.damaged { StandardOutput.say(Self.line(row, isRepaired: repair)) }
            progress.show("\(sum.checked) of \(sum.total) items")
            after = reply.next
        } while after != nil
        progress.clear()
        for line in database { StandardOutput.say("database: \(PlainText.line(line))") }
        StandardOutput.say(Self.summary(sum, damaged: damaged, isRepaired: repair))
        if !database.isEmpty {
            StandardError.say(
                "the file itself is damaged: 'touchstone device shutdown \(device.paths.name)', "
                    + "then 'touchstone keychain check --repair'")
        }
        return database.isEmpty && (damaged == 0 || repair)
    }

    static func line(_ row: BackupInterface.DamagedRow, isRepaired: Bool) -> String {
        let what =
            switch row.problem {
            case .malformed: "is not a whole item"
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
        let outcome = !isRepaired ? "" : row.problem == .tags ? ": mended" : ": put aside"
        return "damaged:\(kind) item \(row.row)\(protection)\(created): \(what)\(outcome)"
    }

    static func summary(_ sum: BackupInterface.Check.Reply, damaged: Int, isRepaired: Bool) -> String {
        var parts = ["\(sum.checked - sum.locked) items checked", "\(damaged) damaged"]
        if sum.locked > 0 { parts.append("\(sum.locked) not checked, unlock the device") }
        if sum.expired > 0 { parts.append("\(sum.expired) made unreadable by their owner") }
        if sum.quarantined > 0 { parts.append("\(sum.quarantined) put aside, now or earlier") }
        return parts.joined(separator: "; ")
    }
}
