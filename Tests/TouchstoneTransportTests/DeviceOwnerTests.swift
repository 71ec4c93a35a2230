import Foundation
import Glibc
import Testing

@testable import TouchstoneSystem
@testable import TouchstoneTransport

/// A device of the system is for the user it was made for, not for whoever has that number.
@Suite struct DeviceOwnerTests {
    private static func withDirectory(_ body: (URL) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("owner-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(directory)
    }

    private static let ownName = String(cString: getpwuid(getuid()).pointee.pw_name)

    @Test func theRecordedUserIsTheOwner() throws {
        try Self.withDirectory { directory in
            try DeviceOwner.record(getuid(), in: directory)
            #expect(DeviceOwner.recorded(in: directory) == Self.ownName)
            try DeviceOwner.check(getuid(), in: directory)
            var facts = stat()
            #expect(stat(directory.appendingPathComponent("owner").path, &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o644)
            // Once.
            #expect(throws: (any Error).self) { try DeviceOwner.record(getuid(), in: directory) }
        }
    }

    @Test func anotherUserOfThatNumberIsNot() throws {
        try Self.withDirectory { directory in
            try Data("someone-who-is-gone".utf8).write(to: directory.appendingPathComponent("owner"))
            let changed = DeviceOwner.Changed(
                recorded: "someone-who-is-gone", present: Self.ownName, ownerID: getuid())
            #expect(throws: changed) { try DeviceOwner.check(getuid(), in: directory) }
            #expect("\(changed)".contains("touchstone system remove \(getuid())"))
        }
    }

    @Test func norIsNobody() throws {
        try Self.withDirectory { directory in
            try Data("someone-who-is-gone".utf8).write(to: directory.appendingPathComponent("owner"))
            let unused: UInt32 = 3_999_999_999
            #expect(throws: DeviceOwner.Changed(recorded: "someone-who-is-gone", present: nil, ownerID: unused)) {
                try DeviceOwner.check(unused, in: directory)
            }
            #expect(throws: (any Error).self) { try DeviceOwner.record(unused, in: directory) }
        }
    }

    @Test func aDeviceOfBeforeHasNoName() throws {
        try Self.withDirectory { directory in
            #expect(DeviceOwner.recorded(in: directory) == nil)
            try DeviceOwner.check(getuid(), in: directory)
        }
    }
}
