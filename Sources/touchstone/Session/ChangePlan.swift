import Foundation

/// Changes of the user's files, before anything is done.
struct ChangePlan {
    struct Step {
        var owner: ChangeOwner
        var change: FileChange
        /// nil: there is no such file.
        var before: Data?
        var after: Data
        /// What the change is for.
        var purpose: String
    }

    private(set) var steps: [Step] = []

    /// Whether a unit of the user's systemd is among them.
    var hasUnits: Bool { steps.contains { $0.change.path.hasPrefix(UserManager.unitDirectory) } }

    /// What happens, line by line.
    var lines: [String] {
        steps.map { step in
            let verb = step.change.isNew ? "writes" : step.change.isAddition ? "adds to" : "changes"
            return "\(verb) \(ConfigurationFiles.shown(step.change.path)): \(step.purpose)"
        }
    }

    /// Adds a change of one file; nothing where the file is so already.
    mutating func change(
        _ path: String, for owner: ChangeOwner, _ purpose: String, kind: FileChange.Kind = .text,
        previous: [String] = [], _ after: (Data) throws -> Data
    ) throws {
        let before = try ConfigurationFiles.read(path)
        let after = try after(before ?? Data())
        guard let change = FileChange(path, kind: kind, previous: previous, before: before, after: after) else {
            return
        }
        steps.append(Step(owner: owner, change: change, before: before, after: after, purpose: purpose))
    }

    /// The same for units of the user's systemd.
    mutating func write(_ units: [UserUnit], for owner: ChangeOwner, _ purpose: String) throws {
        for unit in units {
            try change(unit.path, for: owner, purpose) { _ in Data(unit.text.utf8) }
        }
    }

    /// Does all of it, and notes that this is enabled.
    ///
    /// What fails in the middle leaves a record with which what was done is put back.
    func carryOut(enabling owner: ChangeOwner) throws {
        var record = try ChangeRecord.read()
        if !record.enabled.contains(owner) { record.enabled.append(owner) }
        for step in steps {
            // The owner was asked in between, and may have taken a while.
            guard try ConfigurationFiles.read(step.change.path) == step.before else {
                throw Failure(
                    .refused, "\(ConfigurationFiles.shown(step.change.path)) was changed meanwhile; run this again")
            }
            var change = step.change
            change.directories = try ConfigurationFiles.makeDirectories(above: change.path)
            record.entries.append(.init(owner: step.owner, change: change))
            try record.write()
            try ConfigurationFiles.write(step.after, change.path)
        }
        try record.write()
    }
}
