import Foundation
import GRDB

extension KeychainStore {
    /// Refuses a database that a newer version has written, without changing a byte of it.
    ///
    /// - Throws: `KeychainStoreError`; GRDB's errors where it cannot be read at all.
    static func checkVersion(_ file: URL) throws {
        // Just made.
        guard let status = try KeychainFile.status(file.path), status.bytes > 0 else { return }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let isNewer = try DatabaseQueue(path: file.path, configuration: configuration).inDatabase { database in
            do {
                return try migrator.hasBeenSuperseded(database)
            } catch  where !(error is DatabaseError) {
                // The names of the versions are not text: nothing but damage does that.
                throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the versions of the database cannot be read")
            }
        }
        guard !isNewer else {
            throw KeychainStoreError(
                description: "\(file.path) was written by a newer version of Touchstone: install that version; "
                    + "nothing was changed")
        }
    }
}
