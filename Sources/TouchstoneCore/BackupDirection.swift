/// Into a backup, or out of one.
package enum BackupDirection: String, CaseIterable, Sendable {
    case export
    case `import`
}
