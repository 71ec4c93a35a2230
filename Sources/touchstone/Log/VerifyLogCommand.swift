import ArgumentParser
import Foundation
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLog
import TouchstoneSystem

/// `touchstone log verify`.
struct VerifyLogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check with the enclave that the log is as it wrote it.",
        discussion: """
            Finds entries that were changed, removed, added or moved, and a log whose end was cut off. The device must \
            be booted, because only its enclave can tell which entries it wrote. To check files that you moved away, \
            name them, oldest first. Then the end of the log is not checked.

            Exit status: 0 it is complete, 1 it is not, 69 the device is off or did not answer.
            """)

    @Argument(help: ArgumentHelp("Files to check instead of the device's own.", valueName: "file"))
    var files: [String] = []
    @Option(
        help: ArgumentHelp("The number of the first entry, if you keep older ones elsewhere.", valueName: "number"))
    var from: Int = 1
    @OptionGroup var device: DeviceOption

    func validate() throws {
        if from < 1 { throw ValidationError("--from takes the number of an entry: 1 or more") }
    }

    func run() throws {
        let paths = try device.paths
        try DeviceDirectory.check(paths)
        let connection = try DeviceClient(paths)
        var check = LogCheck(from: from)
        let before = try connection.call(DeviceInterface.GetLogHead.self).head
        if files.isEmpty {
            let reader = try DeviceClient(paths)
            do {
                try reader.stream(DeviceInterface.ReadLog.self, .init(follow: false)) { reply in
                    try judge(reply.lines, connection, &check)
                    return true
                }
            } catch {
                throw Failure.of(error, paths)
            }
            check.finish(between: (before, try connection.call(DeviceInterface.GetLogHead.self).head))
        } else {
            for file in files {
                try judge(Self.lines(of: file), connection, &check)
            }
            check.finish(between: nil)
        }
        try tell(check, paths)
    }

    private func judge(_ lines: [String], _ connection: DeviceClient, _ check: inout LogCheck) throws {
        try check.add(lines) { lines in
            let genuine = try connection.call(DeviceInterface.CheckLog.self, .init(lines: lines)).genuine
            guard genuine.count == lines.count else {
                throw Failure(.internalError, "\(connection.paths.name) did not check every line")
            }
            return genuine
        }
    }

    private static func lines(of file: String) throws -> [String] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw Failure(.no, "\(file) cannot be read")
        }
        var lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    private func tell(_ check: LogCheck, _ paths: DevicePaths) throws {
        let findings = check.findings
        guard findings.isEmpty else {
            for finding in findings.prefix(Self.maximumShown) { StandardOutput.say(finding.sentence) }
            if findings.count > Self.maximumShown {
                StandardOutput.say("and \(findings.count - Self.maximumShown) more places")
            }
            throw Failure(.no, "the log of \(paths.name) is not as its enclave wrote it")
        }
        guard let first = check.first, let last = check.last else {
            return StandardOutput.say("the log is empty")
        }
        StandardOutput.say(
            "the log is whole: entries \(first) to \(last.sequence), each as the enclave of \(paths.name) wrote it")
    }

    private static let maximumShown = 20
}

extension LogCheck.Finding {
    var sentence: String {
        switch self {
        case .damaged(let line, let entry?):
            "line \(line), which says it is entry \(entry): changed, or not of this device"
        case .damaged(let line, nil): "line \(line): changed, or not of this device"
        case .missing(let range) where range.count == 1: "entry \(range.lowerBound) is missing"
        case .missing(let range): "entries \(range.lowerBound) to \(range.upperBound) are missing"
        case .outOfOrder(let entry, let line): "entry \(entry) is in the wrong place, in line \(line)"
        case .repeated(let entry, let line): "entry \(entry) is there twice, again in line \(line)"
        case .forked(let entry, let line):
            "entry \(entry), in line \(line), does not follow the entry before it: an older state may have been put back"
        }
    }
}
