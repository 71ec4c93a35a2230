/// How long no passcode is looked at after wrong ones, and when only the passcode helps: the numbers of PC-01 and PC-20 in one place.
package struct PasscodePolicy: Sendable {
    /// Seconds, by the number of wrong passcodes in a row; without an entry, as for the number before (PC-01).
    package var delays: [Int: Double] = [4: 60, 5: 300, 6: 900, 7: 3600, 8: 10800, 9: 28800]
    /// So many erase the device, where its owner has turned that on; otherwise none is the last (PC-02).
    package var maximumFailures = 10
    /// Longest time without an unlock after which a finger still counts, in seconds (PC-20).
    package var longestWithoutUnlock: Double = 48 * 3600
    /// Longest time without the passcode in seconds; beyond it a finger counts only soon after another (PC-20, PC-21).
    package var longestWithoutPasscode: Double = 156 * 3600
    /// How soon, in seconds (PC-20, PC-21).
    package var longestWithoutFinger: Double = 4 * 3600

    package init() {}

    package func delay(afterFailures failures: Int) -> Double {
        delays.keys.filter { $0 <= failures }.max().flatMap { delays[$0] } ?? 0
    }
}
