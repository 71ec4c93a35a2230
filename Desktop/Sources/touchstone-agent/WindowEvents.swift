import CTouchstoneWindow

/// What the window calls, on the main thread.
@MainActor enum WindowEvents {
    /// The one that there is.
    static var receiver: PromptWindow?

    /// Lives as long as the process, as the window does.
    static let table: UnsafePointer<touchstone_window_events> = {
        let table = UnsafeMutablePointer<touchstone_window_events>.allocate(capacity: 1)
        unsafe table.initialize(
            to: touchstone_window_events(
                pressed: { _, button in MainActor.assumeIsolated { receiver?.pressed(Int(button)) } },
                typed: { _, bytes, count in
                    // Only for the length of this call, and never in another thread.
                    nonisolated(unsafe) let bytes = unsafe UnsafeBufferPointer(start: bytes, count: count)
                    MainActor.assumeIsolated { unsafe receiver?.typed(bytes) }
                },
                erased: { _, all in MainActor.assumeIsolated { receiver?.erased(all: all) } },
                entered: { _ in MainActor.assumeIsolated { receiver?.entered() } },
                cancelled: { _ in MainActor.assumeIsolated { receiver?.cancelled() } },
                presented: { _ in MainActor.assumeIsolated { receiver?.presented() } }))
        return unsafe UnsafePointer(table)
    }()
}
