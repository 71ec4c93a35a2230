package import Foundation
internal import Glibc

/// For whom root made a device of the system's: by name, since a deleted user's number is given to somebody else.
package enum DeviceOwner {
    /// The device is not for the user who has that number now.
    package struct Changed: Error, CustomStringConvertible, Equatable {
        /// For whom it was made.
        package let recorded: String
        /// Who has the number now; nil: nobody.
        package let present: String?
        package let ownerID: UInt32

        package var description: String {
            "this device was made for '\(recorded)', and user \(ownerID) is "
                + (present.map { "'\($0)'" } ?? "nobody") + " now: 'touchstone system remove \(ownerID)' removes it"
        }
    }

    private static func file(_ directory: URL) -> URL { directory.appendingPathComponent("owner") }

    /// The user's name, as the system has it now; nil: there is no such user.
    private static func name(of id: UInt32) -> String? {
        unsafe getpwuid(id).flatMap { unsafe String(cString: $0.pointee.pw_name) }
    }

    /// The name that is recorded in a device's directory, where only root writes; nil if no name is recorded, as for older devices.
    package static func recorded(in directory: URL) -> String? {
        try? String(contentsOf: file(directory), encoding: .utf8)
    }

    /// Records the present name of a user in the directory of a new device, for everybody to read.
    package static func record(_ ownerID: UInt32, in directory: URL) throws {
        guard let name = name(of: ownerID) else { throw CocoaError(.fileWriteUnknown) }
        try Data(name.utf8).write(to: file(directory), options: .withoutOverwriting)
        guard unsafe chmod(file(directory).path, 0o644) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// - Throws: Where another name is recorded than the user has.
    package static func check(_ ownerID: UInt32, in directory: URL) throws(Changed) {
        try check(ownerID, isCalled: name(of: ownerID), in: directory)
    }

    /// The same for who knows the user's name without the name service.
    package static func check(_ ownerID: UInt32, isCalled present: String?, in directory: URL) throws(Changed) {
        guard let recorded = recorded(in: directory) else { return }
        guard recorded == present else { throw Changed(recorded: recorded, present: present, ownerID: ownerID) }
    }
}
