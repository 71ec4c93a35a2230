import Testing

@testable import touchstone

struct RestartPolicyTests {
    @Test func quickDeathsAreAnsweredMoreAndMoreSlowlyAndThenNotAtAll() {
        var policy = RestartPolicy()
        let delays = (0..<5).map { _ in policy.delay(afterLiving: .milliseconds(10), wasRequested: false) }
        #expect(delays == [.zero, .milliseconds(200), .milliseconds(400), .milliseconds(800), nil])
    }

    @Test func aLongLifeForgivesQuickDeaths() {
        var policy = RestartPolicy()
        for _ in 0..<4 { _ = policy.delay(afterLiving: .zero, wasRequested: false) }
        #expect(policy.delay(afterLiving: .seconds(2), wasRequested: false) == .zero)
        #expect(policy.delay(afterLiving: .zero, wasRequested: false) == .zero)
    }

    @Test func rebootsAreNeverTooMany() {
        var policy = RestartPolicy()
        for _ in 0..<20 { #expect(policy.delay(afterLiving: .milliseconds(50), wasRequested: true) == .zero) }
    }
}
