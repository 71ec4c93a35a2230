/// When daemons that ended are started again.
struct RestartPolicy {
    private var quickDeaths = 0
    /// Quick deaths in a row before the device answered.
    private var failedStarts = 0

    /// - Parameters:
    ///   - lifetime: from start to end.
    ///   - wasReady: the device answered, so that it can answer again.
    ///   - wasRequested: it ended of its own accord, which is what a reboot looks like.
    /// - Returns: how long to wait first; nil: give up.
    mutating func delay(afterLiving lifetime: Duration, wasReady: Bool, wasRequested: Bool) -> Duration? {
        guard lifetime < Self.quick, !wasRequested else {
            (quickDeaths, failedStarts) = (0, 0)
            return .zero
        }
        quickDeaths += 1
        failedStarts = wasReady ? 0 : failedStarts + 1
        guard failedStarts < Self.maximumFailedStarts else { return nil }
        if quickDeaths == 1 { return .zero }
        // Far below what the shift can hold, and far above the longest delay.
        return min(Self.firstDelay * (1 << min(quickDeaths - 2, 10)), Self.longestDelay)
    }

    /// Daemons that die sooner than this will probably die again if they are restarted at once.
    static let quick = Duration.seconds(2)
    static let maximumFailedStarts = 5
    static let firstDelay = Duration.milliseconds(200)
    static let longestDelay = Duration.seconds(5)
}
