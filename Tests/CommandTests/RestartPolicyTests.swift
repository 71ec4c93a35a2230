import Testing

@testable import touchstone

struct RestartPolicyTests {
    @Test func failedStartsAreAnsweredMoreAndMoreSlowlyAndThenNotAtAll() {
        var policy = RestartPolicy()
        let delays = (0..<5).map { _ in
            policy.delay(afterLiving: .milliseconds(10), wasReady: false, wasRequested: false)
        }
        #expect(delays == [.zero, .milliseconds(200), .milliseconds(400), .milliseconds(800), nil])
    }

    @Test func quickDeathsOfADeviceThatAnsweredAreNeverTooMany() {
        var policy = RestartPolicy()
        let delays = (0..<100).map { _ in
            policy.delay(afterLiving: .milliseconds(900), wasReady: true, wasRequested: false)
        }
        #expect(delays.prefix(4) == [.zero, .milliseconds(200), .milliseconds(400), .milliseconds(800)])
        #expect(delays.dropFirst(6).allSatisfy { $0 == .seconds(5) })
    }

    @Test func anAnswerForgivesFailedStarts() {
        var policy = RestartPolicy()
        for _ in 0..<4 { _ = policy.delay(afterLiving: .zero, wasReady: false, wasRequested: false) }
        #expect(policy.delay(afterLiving: .zero, wasReady: true, wasRequested: false) == .milliseconds(1600))
        #expect(policy.delay(afterLiving: .zero, wasReady: false, wasRequested: false) == .milliseconds(3200))
    }

    @Test func aLongLifeForgivesQuickDeaths() {
        var policy = RestartPolicy()
        for _ in 0..<4 { _ = policy.delay(afterLiving: .zero, wasReady: false, wasRequested: false) }
        #expect(policy.delay(afterLiving: .seconds(2), wasReady: false, wasRequested: false) == .zero)
        #expect(policy.delay(afterLiving: .zero, wasReady: false, wasRequested: false) == .zero)
    }

    @Test func rebootsAreNeverTooMany() {
        var policy = RestartPolicy()
        for _ in 0..<20 {
            #expect(policy.delay(afterLiving: .milliseconds(50), wasReady: true, wasRequested: true) == .zero)
        }
    }
}
