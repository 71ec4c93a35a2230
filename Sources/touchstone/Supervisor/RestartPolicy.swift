/// When daemons that ended are started again.
struct RestartPolicy {
    private var quickDeaths = 0

    /// - Parameters:
    ///   - lifetime: from start to end.
    ///   - wasRequested: the device was ready and ended of its own accord, which is what a reboot looks like.
    /// - Returns: how long to wait first; nil: give up.
    mutating func delay(afterLiving lifetime: Duration, wasRequested: Bool) -> Duration? {
        guard lifetime < Self.quick, !wasRequested else {
            quickDeaths = 0
            return .zero
        }
        quickDeaths += 1
        guard quickDeaths < Self.maximumQuickDeaths else { return nil }
        if quickDeaths == 1 { return .zero }
        return min(Self.firstDelay * (1 << (quickDeaths - 2)), Self.longestDelay)
    }

    /// Daemons that die sooner than this will probably die again if they are restarted at once.
    static let quick = Duration.seconds(2)
    static let maximumQuickDeaths = 5
    static let firstDelay = Duration.milliseconds(200)
    static let longestDelay = Duration.seconds(5)
}
