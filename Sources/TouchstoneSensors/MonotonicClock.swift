internal import Glibc

/// Seconds that only go forward, for deadlines: sd-bus counts with the same clock.
enum MonotonicClock {
    static var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
