import TouchstoneCore

/// How the sensor is, also a simulated one, as far as this process knows it.
///
/// Gone with the process. Which sensor it is, and who is enrolled, is in the kept state.
struct SensorState {
    /// nil: the device has no sensor.
    private(set) var status: SensorStatus?
    /// What it was last told to look for.
    private(set) var awaited: String?
    /// A non-match could not be counted on the disk: until the passcode, no finger counts either.
    private(set) var isSuspended = false
    /// Seconds until a touch counts: nobody sees a prompt in the moment in which it is drawn.
    let touchDelay: Double

    /// As it is after a boot: a sensor of the device's own was not heard of yet, and a simulated one works.
    init(of state: EnclaveState, touchDelay: Double) {
        self.touchDelay = touchDelay
        if let source = state.sensor {
            attach(source)
        } else if state.isSimulated, state.biometryType != .none {
            status = .init(kind: .simulated, name: nil, problem: nil, isWeak: false, areTemplatesRead: true)
        }
    }

    /// Whether it is there and can see a touch.
    var works: Bool { status.map { $0.problem == nil } ?? false }

    /// From now on it is this one, of which nothing was heard yet.
    mutating func attach(_ source: SensorSource) { status = .starting(source) }

    /// It works no longer; nil: it does.
    mutating func report(_ problem: SensorProblem?) { status?.problem = problem }

    /// It works, and has said what it is.
    mutating func identify(as reader: String, areTemplatesRead: Bool) {
        status?.problem = nil
        status?.name = reader
        status?.areTemplatesRead = areTemplatesRead
    }

    mutating func look(for awaited: String?) { self.awaited = awaited }

    /// No finger counts until `resume()`.
    mutating func suspend() { isSuspended = true }

    mutating func resume() { isSuspended = false }
}
