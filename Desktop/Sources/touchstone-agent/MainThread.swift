import CTouchstoneWindow

/// GTK's thread.
enum MainThread {
    /// What is to be done there.
    private final class Call: Sendable {
        let body: @MainActor @Sendable () -> Void
        init(_ body: @escaping @MainActor @Sendable () -> Void) { self.body = body }
    }

    /// Does it as soon as the thread is free, in the order of calls.
    static func call(_ body: @escaping @MainActor @Sendable () -> Void) {
        unsafe touchstone_main_call(carryOut, Unmanaged.passRetained(Call(body)).toOpaque())
    }

    static func after(_ time: Duration, _ body: @escaping @MainActor @Sendable () -> Void) {
        let milliseconds = UInt32((time / .milliseconds(1)).rounded(.up))
        unsafe touchstone_main_after(milliseconds, carryOut, Unmanaged.passRetained(Call(body)).toOpaque())
    }

    private static let carryOut: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        guard let context = unsafe context else { return }
        let call = unsafe Unmanaged<Call>.fromOpaque(context).takeRetainedValue()
        MainActor.assumeIsolated { call.body() }
    }
}
