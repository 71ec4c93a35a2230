import Testing

@testable import CTAPHID

private func event(_ kind: UInt8, _ rest: [UInt8] = []) -> [UInt8] { [kind, 0, 0, 0] + rest }

/// The kernel's events, as `linux/uhid.h` lays them out, packed (FD-1, FD-2).
@Suite struct UHIDEventTests {
    private func output(_ report: [UInt8], size: Int? = nil) -> [UInt8] {
        let size = size ?? report.count
        return event(
            6, report + [UInt8](repeating: 0, count: 4096 - report.count) + [UInt8(size & 0xFF), UInt8(size >> 8), 1])
    }

    @Test func anOutputIsItsReport() {
        let report = (1...64).map { UInt8($0) }
        #expect(UHIDEvent(output(report)) == .output(report))
        // The number of the only report stands in front of it.
        #expect(UHIDEvent(output([0] + report)) == .output(report))
    }

    @Test func anOutputLongerThanItsRoomIsNothing() {
        #expect(UHIDEvent(output([], size: 4097)) == nil)
        #expect(UHIDEvent(Array(output([1]).dropLast(2))) == nil)
        #expect(UHIDEvent([6, 0, 0]) == nil)
    }

    @Test func reportsThatAreNotThereAreRefusedAtOnce() {
        #expect(UHIDEvent(event(9, [7, 0, 0, 0, 0, 0]))?.refusal == event(10, [7, 0, 0, 0, 5, 0, 0, 0]))
        #expect(UHIDEvent(event(13, [8, 1, 0, 0, 0, 0, 0, 0]))?.refusal == event(14, [8, 1, 0, 0, 5, 0]))
        #expect(UHIDEvent(event(9, [7])) == nil)
    }

    @Test func openingAndClosingAreTold() {
        #expect(UHIDEvent(event(4)) == .opened)
        #expect(UHIDEvent(event(5)) == .closed)
        #expect(UHIDEvent(event(2, [UInt8](repeating: 0, count: 8))) == .other)
        #expect(UHIDEvent(event(4))?.refusal == nil)
    }

    @Test func aDeviceIsMadeAsTheKernelWantsIt() {
        let bytes = UHIDEvent.create(name: "A name")
        #expect(bytes.count == 4376)
        #expect(bytes.count == UHIDEvent.longest)
        #expect(Array(bytes[..<4]) == [11, 0, 0, 0])
        #expect(Array(bytes[4..<11]) == Array("A name".utf8) + [0])
        // The size of the descriptor, the bus of USB, vendor and product.
        let count = UHIDEvent.descriptor.count
        #expect(Array(bytes[260..<272]) == [UInt8(count), 0, 3, 0, 0xD0, 0xF1, 0, 0, 0x53, 0x70, 0, 0])
        #expect(Array(bytes[280..<280 + count]) == UHIDEvent.descriptor)
        #expect(
            UHIDEvent.input([UInt8](repeating: 9, count: 64)) == event(12, [64, 0] + [UInt8](repeating: 9, count: 64)))
    }
}
