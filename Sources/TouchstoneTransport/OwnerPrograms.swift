internal import Foundation
internal import Glibc
internal import Synchronization
package import TouchstoneCore

/// The programs to which root gave the owner's interface of the system's devices: settings, lock screen, log, backups, prompts.
///
/// Each line of a file is the path of an executable, or `unit:NAME.service`; what begins with `#` is a comment. The files are root's.
/// So is each executable, with every directory above it: who could change one of them would be on the list.
package final class OwnerPrograms: Sendable {
    package enum Limits {
        package static let files = 64
        package static let fileBytes = 16 << 10
        package static let lines = 256
    }

    /// What the files of all directories say.
    package struct Listed: Sendable {
        package var programs: [String] = []
        /// What of it is not used, and why; sentences without a full stop.
        package var problems: [String] = []
        /// Set where something was not read that may be good.
        package var shortage: Shortage?
    }

    private struct State {
        var versions: [String: OwnedDirectory.Version]?
        var programs: Set<AppIdentifier> = []
    }

    /// The administrator's, which win, and those of packages.
    package static let system = ["/etc/touchstone/owner-programs.d", "/usr/lib/touchstone/owner-programs.d"]

    private let directories: [String]
    private let owner: UInt32
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directories: Where the files lie. A file in one hides those of the same name in the ones behind it, used or refused.
    ///   - owner: Whose files they may be, besides root's.
    ///   - report: Is told of all that is not used, when it is read.
    package init(
        _ directories: [String] = OwnerPrograms.system, owner: UInt32 = 0, report: @escaping @Sendable (String) -> Void
    ) {
        self.directories = directories
        self.owner = owner
        self.report = report
    }

    /// Where an administrator lists programs.
    package var administrators: String { directories.first ?? "" }

    /// Whether the app is on the list, as the files are now; no if they cannot be read now.
    package func contains(_ app: AppIdentity) -> Bool {
        let isListed = state.withLock { state in
            guard let versions = try? versions() else { return false }
            if versions != state.versions {
                let listed = read()
                for problem in listed.problems { report(problem) }
                guard listed.shortage == nil else { return false }
                state.programs = Set(listed.programs.map { AppIdentifier($0) })
                state.versions = versions
            }
            return state.programs.contains(app.identifier)
        }
        guard isListed else { return false }
        switch app.evidence {
        case .flatpak, .snap, .process: return false
        case .systemdUnit: return true
        case .executable:
            guard app.identifier.rawValue.hasPrefix("/") else { return false }
            // Its mode may have changed since the list was read.
            guard let refusal = Self.refusal(ofExecutable: app.identifier.rawValue) else { return true }
            report("\(app.identifier) may not use the owner's interface: \(refusal)")
            return false
        }
    }

    private func versions() throws(Shortage) -> [String: OwnedDirectory.Version] {
        var versions: [String: OwnedDirectory.Version] = [:]
        for directory in directories {
            let names = try OwnedDirectory.names(in: directory).prefix(Limits.files + 1)
            let files = names.map { "\(directory)/\($0)" }
            for path in [directory] + files { versions[path] = OwnedDirectory.Version(path: path) }
        }
        return versions
    }

    /// Reads all files.
    package func read() -> Listed {
        var listed = Listed()
        var names: Set<String> = []
        for directory in directories {
            var facts = stat()
            // Absent is as good as empty.
            if unsafe lstat(directory, &facts) != 0, errno == ENOENT { continue }
            do throws(OwnedDirectory.Refused) {
                let open = try OwnedDirectory(directory, owner: owner)
                let all: [String]
                do throws(Shortage) { all = try OwnedDirectory.names(in: directory) } catch {
                    throw .init(description: "it cannot be read now", error)
                }
                guard all.count <= Limits.files else {
                    throw .init(description: "it has more than \(Limits.files) files")
                }
                for name in all where names.insert(name).inserted {
                    let file = "\(directory)/\(name)"
                    do throws(OwnedDirectory.Refused) {
                        listed.add(try Self.parse(open.contents(of: name, atMost: Limits.fileBytes)), from: file)
                    } catch {
                        listed.shortage = error.shortage ?? listed.shortage
                        listed.problems.append("\(file) is not used: \(error)")
                    }
                }
            } catch {
                listed.shortage = error.shortage ?? listed.shortage
                listed.problems.append("\(directory) is not read: \(error)")
            }
        }
        return listed
    }

    /// Reads one file.
    ///
    /// - Returns: The programs, and the numbers of lines that name none.
    /// - Throws: `Refused` for one that is no text, or has too many lines.
    static func parse(_ bytes: Data) throws(OwnedDirectory.Refused) -> (programs: [String], badLines: [Int]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .init(description: "it is not UTF-8") }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count <= Limits.lines else {
            throw .init(description: "it has more than \(Limits.lines) lines")
        }
        var (programs, badLines): ([String], [Int]) = ([], [])
        for (number, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
            if line.isEmpty || line.hasPrefix("#") { continue }
            if isProgram(line) { programs.append(line) } else { badLines.append(number + 1) }
        }
        return (programs, badLines)
    }

    /// The path of an executable as the kernel would say it, or a unit of the system's.
    private static func isProgram(_ line: String) -> Bool {
        guard line.utf8.count <= 1024,
            !line.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return false }
        if line.hasPrefix("unit:") { return line.hasSuffix(".service") && line.utf8.count > "unit:.service".utf8.count }
        guard line.hasPrefix("/") else { return false }
        return line.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            .allSatisfy { !["", ".", ".."].contains($0) }
    }

    /// Why a program at this path may not be on the list; nil: only root can change it, or what lies on the way to it.
    package static func refusal(ofExecutable path: String) -> String? {
        var place = ""
        for part in path.split(separator: "/") {
            if let refusal = refusal(ofPlace: place.isEmpty ? "/" : place, isLast: false) { return refusal }
            place += "/\(part)"
        }
        return refusal(ofPlace: place, isLast: true)
    }

    private static func refusal(ofPlace place: String, isLast: Bool) -> String? {
        var facts = stat()
        guard unsafe lstat(place, &facts) == 0 else {
            return unsafe "\(place) cannot be looked at (\(String(cString: strerror(errno))))"
        }
        switch facts.st_mode & S_IFMT {
        case S_IFLNK: return "\(place) is a symbolic link: list the file that it leads to"
        case isLast ? S_IFREG : S_IFDIR: break
        default: return "\(place) is not a \(isLast ? "regular file" : "directory")"
        }
        if facts.st_uid != 0 { return "\(place) belongs to user \(facts.st_uid)" }
        return facts.st_mode & 0o022 == 0 ? nil : "others can write to \(place)"
    }
}

extension OwnerPrograms.Listed {
    fileprivate mutating func add(_ file: (programs: [String], badLines: [Int]), from path: String) {
        for number in file.badLines {
            problems.append("line \(number) of \(path) is not used: it is not the path of an executable")
        }
        for program in file.programs {
            if program.hasPrefix("/"), let refusal = OwnerPrograms.refusal(ofExecutable: program) {
                problems.append("\(program), listed in \(path), may not use the owner's interface: \(refusal)")
            }
            programs.append(program)
        }
    }
}
