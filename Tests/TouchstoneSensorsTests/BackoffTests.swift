import Testing

@testable import TouchstoneSensors

@Suite struct BackoffTests {
    @Test("what fails again and again is tried after longer and longer pauses, and the longest stays")
    func schedule() {
        var backoff = Backoff()
        var now = 100.0
        var tries: [Double] = []
        for _ in 0..<7 {
            tries.append(now - 100)
            now += backoff.fail(at: now)
            #expect(backoff.since == 100)
        }
        #expect(zip(tries, [0, 0.1, 0.3, 0.7, 1.5, 2.3, 3.1]).allSatisfy { abs($0 - $1) < 0.001 })
    }

    @Test("what works in between begins anew")
    func reset() {
        var backoff = Backoff()
        #expect(backoff.since == nil)
        for now in 0..<4 { _ = backoff.fail(at: Double(now)) }
        backoff.reset()
        #expect(backoff.since == nil)
        #expect(backoff.fail(at: 9) == Backoff.pauses[0] && backoff.since == 9)
    }
}
