/// How long the enclave looks at no passcode after so many wrong ones in a row (PC-01).
package enum PasscodeDelays {
    /// From this many on no passcode is looked at any more.
    package static let disabledAfter = 10

    /// Seconds, by the number of failures.
    private static let table: [Int: Double] = [4: 60, 5: 300, 6: 900, 7: 3600, 8: 10800, 9: 28800]

    package static func seconds(afterFailures failures: Int) -> Double {
        table[failures] ?? 0
    }
}
