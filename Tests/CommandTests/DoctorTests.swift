import Testing

@testable import touchstone

/// What is said of a machine, by what its kernel says.
@Suite struct DoctorTests {
    @Test(
        "swap is a warning where it is on a disk and not encrypted",
        arguments: [
            ("", Finding.State.good), ("/dev/zram0 partition 1 0 100\n", .good),
            ("/dev/dm-1 partition 1 0 -2\n", .good),
            ("/dev/dm-2 partition 1 0 -2\n", .warning), ("/swapfile file 1 0 -2\n", .warning),
            ("/dm-1 file 1 0 -2\n", .warning), ("/dev/zram0 partition 1 0 100\n/dev/sda2 partition 1 0 -2\n", .warning),
        ])
    func swap(lines: String, state: Finding.State) {
        let found = MachineCheck.swap("Filename Type Size Used Priority\n" + lines) { $0 == "dm-1" }
        #expect(found.state == state && (found.fix == "sudo swapoff -a") == (state == .warning))
    }

    @Test(
        "other programs are a warning where nothing keeps them from the memory of apps",
        arguments: [
            ("0\n" as String?, Finding.State.warning, true), ("1\n", .good, false), ("3\n", .good, false),
            (nil, .warning, false),
            ("nonsense", .warning, false),
        ])
    func otherPrograms(scope: String?, state: Finding.State, isMendable: Bool) {
        let found = MachineCheck.otherPrograms(scope)
        #expect(found.state == state && (found.fix != nil) == isMendable)
    }
}
