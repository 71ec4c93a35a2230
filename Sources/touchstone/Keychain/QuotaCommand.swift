import ArgumentParser
import TouchstoneCore
import TouchstoneInterfaces

/// `touchstone keychain quota`.
struct QuotaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quota",
        abstract: "Show or limit what each app keeps in the keychain.",
        discussion: """
            Without an option the command shows how much each app keeps, and how much it may keep: 10,000 items and 64 \
            MiB of stored data, unless you change it. An app that goes beyond its limit gets errSecDiskFull (-34), and \
            the log says so: 'touchstone log --refused'. If you set a limit below what an app already keeps, its items \
            stay.

            Items in an access group that apps share count for the group, whichever app added them. Name a group like \
            an app. While the device is locked, not all names can be read.

            Examples:
              touchstone keychain quota
              touchstone keychain quota /usr/bin/example --items 20000 --size 128MiB
              touchstone keychain quota /usr/bin/example --default
            """)

    @Argument(help: "The application identifier or access group (default: all of them).", completion: .apps) var app:
        String?
    @Option(help: ArgumentHelp("How many items the app may keep.", valueName: "n")) var items: Int?
    @Option(
        help: ArgumentHelp(
            "How many bytes the app's items may have: a number, or one with KiB, MiB or GiB.", valueName: "size"))
    var size: ByteCount?
    @Flag(
        name: .customLong("default"),
        help: "Remove the app's own limit, so that it may keep as much as every other app.") var isDefault = false
    @Flag(help: "As JSON: one object for each app.") var json = false
    @OptionGroup var option: DeviceOption

    func validate() throws {
        if let app, !(1...BackupInterface.maximumGroupBytes).contains(app.utf8.count) {
            throw ValidationError("an application identifier is 1 to \(BackupInterface.maximumGroupBytes) bytes")
        }
        let maximum = BackupInterface.Storage.maximum
        if let items, !(0...maximum.items).contains(items) {
            throw ValidationError("--items takes a number between 0 and \(maximum.items)")
        }
        guard changes else { return }
        guard app != nil else { throw ValidationError("name the app whose limit you want to change") }
        guard !isDefault || (items == nil && size == nil) else {
            throw ValidationError("--default cannot be used with --items or --size")
        }
    }

    private var changes: Bool { items != nil || size != nil || isDefault }

    func run() throws {
        let device = try DeviceClient(option.paths)
        if changes, let app { try set(AppIdentifier(app), device) }
        let reply = try device.call(BackupInterface.ListUse.self)
        let uses = reply.uses.filter { use in app.map { use.app == AppIdentifier($0) } ?? true }
        if json { return try StandardOutput.json(uses.map { try JSONValue($0) }) }
        if uses.isEmpty {
            StandardOutput.say(
                app.map { "\(PlainText.line($0)) keeps no items that can be seen" } ?? "no app keeps anything")
        }
        for line in Table.lines(uses.map(Self.row)) { StandardOutput.say(line) }
    }

    /// What is not said of the limit stays as it is.
    private func set(_ app: AppIdentifier, _ device: DeviceClient) throws {
        guard !isDefault else {
            _ = try device.call(BackupInterface.SetQuota.self, .init(app: app, limit: nil))
            return
        }
        let reply = try device.call(BackupInterface.ListUse.self)
        var limit = reply.uses.first { $0.app == app }?.limit ?? reply.limit
        if let items { limit.items = items }
        if let size { limit.bytes = size.bytes }
        _ = try device.call(BackupInterface.SetQuota.self, .init(app: app, limit: limit))
    }

    private static func row(_ use: BackupInterface.Use) -> [String] {
        let (used, limit) = (use.used, use.limit)
        guard let app = use.app else {
            return [
                "\(used.items) items", ByteCount(used.bytes).description,
                "of apps whose names cannot be read while it is locked",
            ]
        }
        return [
            "\(used.items) of \(limit.items) items", "\(ByteCount(used.bytes)) of \(ByteCount(limit.bytes))",
            PlainText.line(app.rawValue) + (use.isDefault ? "" : " (own limit)"),
        ]
    }
}

/// A number of bytes on the command line: `65536`, `64KiB`, `128MiB`.
struct ByteCount: ExpressibleByArgument, CustomStringConvertible, Equatable {
    var bytes: Int

    private static let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]

    init(_ bytes: Int) { self.bytes = bytes }

    /// nil for what is no number, is negative, or is more than the largest limit.
    init?(argument: String) {
        let unit = Self.units.first { argument.lowercased().hasSuffix($0.0.lowercased()) }
        let digits = unit == nil ? argument[...] : argument.dropLast(3)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else {
            return nil
        }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: unit?.1 ?? 1)
        guard !isTooLarge, bytes <= BackupInterface.Storage.maximum.bytes else { return nil }
        self.bytes = bytes
    }

    /// Exact where it is a whole number of a unit, else rounded to a tenth.
    var description: String {
        guard let (name, size) = Self.units.first(where: { bytes >= $0.1 }) else { return "\(bytes) bytes" }
        if bytes.isMultiple(of: size) { return "\(bytes / size) \(name)" }
        let tenths = Int((Double(bytes) / Double(size) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(name)"
    }
}
