import Foundation
import Synchronization
import TouchstoneAuthentication
import TouchstoneCore
import TouchstoneEnclave
import TouchstoneEnclaveHost
import TouchstoneInterfaces
import TouchstoneKeychain
import TouchstoneSystem
import TouchstoneTransport

/// A device inside this process: the same services and the same enclave as a real one, a store in memory, a clock that is moved,
/// and fingers that are presented.
///
/// While it lives, `Security` and `LocalAuthentication` in this process use it. Where several live at once, as in suites that run in
/// parallel, do the work inside `run`, so that each test uses its own:
///
/// ```swift
/// let device = try SimulatedDevice(passcode: "1234", fingers: 2)
/// try await device.run {
///     device.present(.match)
///     let isOwner = try await LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
/// }
/// ```
///
/// A prompt that nobody answers never hangs a test: after two seconds it fails it, with the line to add (``unanswered``).
///
/// > Concurrency: Every method may be called from any thread.
public final class SimulatedDevice: Sendable {
    /// The sensor of a device.
    public enum Biometry: Sendable {
        /// A fingerprint reader: up to five fingers, three misses end an evaluation.
        case touchID
        /// A camera: up to two faces, two misses end an evaluation.
        case faceID
        /// No sensor: the passcode only.
        case none
    }

    let storage = MemoryStorage()
    let root = MemoryRoot()
    let clock = ManualClock()
    let store: KeychainStore
    package let log = MemoryLog()
    let booted: Mutex<BootedDevice>
    let person = Person()
    private let reports = FaultReports()
    private let explanations = RefusalLines()
    private let endpoint: SimulatedEndpoint
    /// What its sensor looks at.
    let biometryType: BiometryType
    /// Apps whose use of Face ID has been decided once.
    let introduced = Mutex<Set<AppIdentifier>>([])
    /// How other apps reach it, by their identifiers, usage descriptions and groups.
    private let others = Mutex<[[AppIdentifier]: SimulatedEndpoint]>([:])

    /// Makes a device, boots it, and has its owner set it up; afterwards it is unlocked.
    ///
    /// - Parameters:
    ///   - biometry: The sensor.
    ///   - passcode: The passcode, at least four bytes of UTF-8; nil for none.
    ///   - fingers: How many fingers (or faces) are enrolled, numbered 1, 2, …; only with a passcode.
    ///   - unanswered: What becomes of a prompt about which nothing is done; `.waits` where somebody answers later.
    ///   - fileID: Where a failure points at that is no test's.
    ///   - filePath: Where a failure points at that is no test's.
    ///   - line: Where a failure points at that is no test's.
    ///   - column: Where a failure points at that is no test's.
    /// - Throws: ``SimulatedDeviceError`` where a device cannot be set up so.
    public convenience init(
        biometry: Biometry = .touchID, passcode: String? = nil, fingers: Int = 0,
        unanswered: Unanswered = .fails(after: .seconds(2)), fileID: String = #fileID,
        filePath: StaticString = #filePath, line: Int = #line, column: Int = #column
    ) throws {
        try self.init(biometry: biometry)
        person.noteTest(at: SourcePlace(fileID: fileID, filePath: filePath, line: line, column: column))
        person.unanswered = unanswered
        if let passcode { try setPasscode(passcode) }
        for _ in 0..<fingers { try enrollFinger() }
    }

    private init(biometry: Biometry) throws {
        let type: BiometryType =
            switch biometry {
            case .touchID: .touchID
            case .faceID: .faceID
            case .none: .none
            }
        biometryType = type
        try storage.replace(Enclave.create(isSimulated: true, biometryType: type, root: root))
        store = try KeychainStore()
        let first = try BootedDevice(
            storage: storage, root: root, clock: clock, store: store, logStorage: log, report: reports.report)
        booted = Mutex(first)
        endpoint = SimulatedEndpoint(app: Self.thisApp, device: first, refusalLines: explanations)
        person.attend(first)
        endpoint.beforeConnecting { [weak self] in
            self?.person.noteTest()
            self?.introduce(Self.thisApp.identifier)
        }
        DeviceEndpoint.fallback.add(endpoint, for: self)
    }

    deinit {
        DeviceEndpoint.fallback.remove(for: self)
        person.leave()
        booted.withLock { $0 }.stop()
    }

    // MARK: using it

    /// Runs `body` with this device as the one that `Security` and `LocalAuthentication` use.
    ///
    /// - Parameter body: What to run.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        person.noteTest()
        return try DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    /// Runs `body` with this device as the one that `Security` and `LocalAuthentication` use.
    ///
    /// - Parameter body: What to run.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func run<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        person.noteTest()
        return try await DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    /// Runs `body` as another app, with access groups and contexts of its own.
    ///
    /// The app's groups are, in order, `keychainAccessGroups`, its identifier and `applicationGroups` (KC-40): the first is where items
    /// go that name none (KC-41), and a group that is not among them is refused with `errSecMissingEntitlement` (KC-42). Two apps share
    /// what they both name, as apps of one team do:
    ///
    /// ```swift
    /// device.run(as: "org.example.app", keychainAccessGroups: ["TEAM.shared"]) { SecItemAdd(query, nil) }
    /// device.run(as: "org.example.widget", keychainAccessGroups: ["TEAM.shared"]) { SecItemCopyMatching(query, &item) }
    /// ```
    ///
    /// - Parameters:
    ///   - app: The application identifier.
    ///   - keychainAccessGroups: The entitlement `keychain-access-groups`, in order.
    ///   - applicationGroups: The entitlement `com.apple.security.application-groups`.
    ///   - faceIDUsageDescription: `NSFaceIDUsageDescription`; nil for an app that has none and may not use Face ID (CE-11).
    ///   - body: What to run.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func run<Result>(
        as app: String, keychainAccessGroups: [String] = [], applicationGroups: [String] = [],
        faceIDUsageDescription: String? = defaultFaceIDUsageDescription,
        _ body: () throws -> Result
    ) rethrows -> Result {
        let endpoint = endpoint(as: app, keychainAccessGroups, applicationGroups, faceIDUsageDescription)
        person.noteTest()
        return try DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    /// Runs `body` as another app, with access groups and contexts of its own.
    ///
    /// The app's groups are, in order, `keychainAccessGroups`, its identifier and `applicationGroups` (KC-40): the first is where items
    /// go that name none (KC-41), and a group that is not among them is refused with `errSecMissingEntitlement` (KC-42). Two apps share
    /// what they both name, as apps of one team do:
    ///
    /// ```swift
    /// device.run(as: "org.example.app", keychainAccessGroups: ["TEAM.shared"]) { SecItemAdd(query, nil) }
    /// device.run(as: "org.example.widget", keychainAccessGroups: ["TEAM.shared"]) { SecItemCopyMatching(query, &item) }
    /// ```
    ///
    /// - Parameters:
    ///   - app: The application identifier.
    ///   - keychainAccessGroups: The entitlement `keychain-access-groups`, in order.
    ///   - applicationGroups: The entitlement `com.apple.security.application-groups`.
    ///   - faceIDUsageDescription: `NSFaceIDUsageDescription`; nil for an app that has none and may not use Face ID (CE-11).
    ///   - body: What to run.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func run<Result>(
        as app: String, keychainAccessGroups: [String] = [], applicationGroups: [String] = [],
        faceIDUsageDescription: String? = defaultFaceIDUsageDescription,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        let endpoint = endpoint(as: app, keychainAccessGroups, applicationGroups, faceIDUsageDescription)
        person.noteTest()
        return try await DeviceEndpoint.$scoped.withValue(endpoint, operation: body)
    }

    /// The lines on standard error that explained refused calls so far, each once.
    package var refusals: [String] { explanations.lines }

    /// What the device has told its log for developers to read.
    package var faults: [String] { reports.lines }

    /// Says which app this process is, for every device and for whatever is called outside `run(as:)`.
    ///
    /// `run(as:)` is a task-local value. This is for what is made where no `run` is around it, as the properties of an `XCTestCase`:
    ///
    /// ```swift
    /// override class func setUp() {
    ///     SimulatedDevice.process(as: "org.example.app", keychainAccessGroups: ["TEAM.shared"])
    /// }
    /// ```
    ///
    /// What has called before stays who it was.
    ///
    /// - Parameters:
    ///   - app: The application identifier; nil for the one that the process had at first.
    ///   - keychainAccessGroups: The entitlement `keychain-access-groups`, in order.
    ///   - applicationGroups: The entitlement `com.apple.security.application-groups`.
    ///   - faceIDUsageDescription: `NSFaceIDUsageDescription`; nil for an app that has none and may not use Face ID (CE-11).
    public static func process(
        as app: String?, keychainAccessGroups: [String] = [], applicationGroups: [String] = [],
        faceIDUsageDescription: String? = defaultFaceIDUsageDescription
    ) {
        let name = app ?? ProcessInfo.processInfo.processName
        let identity = AppIdentity(
            identifier: app.map { AppIdentifier($0) } ?? "process:\(name)", evidence: .process, name: name,
            processID: getpid(), userID: getuid(), keychainAccessGroups: keychainAccessGroups.map { AccessGroup($0) },
            applicationGroups: applicationGroups.map { AccessGroup($0) },
            faceIDUsageDescription: faceIDUsageDescription)
        processApp.withLock { $0 = identity }
    }

    /// The application identifier of the test process.
    public static var applicationIdentifier: String { thisApp.identifier.rawValue }

    /// What apps say they want Face ID for, where a test does not have them say something else.
    public static let defaultFaceIDUsageDescription = "let you in by your face"

    private func endpoint(
        as app: String, _ keychainAccessGroups: [String], _ applicationGroups: [String],
        _ faceIDUsageDescription: String?
    ) -> SimulatedEndpoint {
        introduce(AppIdentifier(app))
        let identity = AppIdentity(
            identifier: AppIdentifier(app), evidence: .process, name: app, processID: getpid(), userID: getuid(),
            keychainAccessGroups: keychainAccessGroups.map { AccessGroup($0) },
            applicationGroups: applicationGroups.map { AccessGroup($0) },
            faceIDUsageDescription: faceIDUsageDescription)
        return others.withLock { others in
            let key = [identity.identifier, AppIdentifier(faceIDUsageDescription ?? "")] + identity.accessGroups
            if let known = others[key] { return known }
            let other = SimulatedEndpoint(
                app: identity, device: booted.withLock { $0 }, refusalLines: explanations)
            other.beforeConnecting { [weak person] in person?.noteTest() }
            others[key] = other
            return other
        }
    }

    /// Allows the app the use of Face ID, where the test has not decided about that.
    private func introduce(_ app: AppIdentifier) {
        guard biometryType == .faceID, introduced.withLock({ $0.insert(app).inserted }) else { return }
        // Of more apps than the device keeps answers for the first are asked again, as on every device.
        _ = try? call(DeviceInterface.SetFaceIDPermission.self, .init(app: app, isAllowed: true))
    }

    private static var thisApp: AppIdentity { processApp.withLock { $0 } }

    private static let processApp = Mutex(
        AppIdentity(
            identifier: "process:\(ProcessInfo.processInfo.processName)", evidence: .process,
            name: ProcessInfo.processInfo.processName, processID: getpid(), userID: getuid(),
            faceIDUsageDescription: defaultFaceIDUsageDescription))

    // MARK: time

    /// Lets time go by, at once.
    ///
    /// - Parameter duration: How much.
    public func advance(by duration: Duration) {
        clock.advance(by: duration)
    }

    /// Restarts the device: contexts and connections end, and a passcode is needed to unlock it.
    public func reboot() {
        // In this order: to those that wait for their turn the device has stopped, and not its owner gone.
        booted.withLock { $0 }.stop()
        person.leave()
        boot()
    }

    /// Restarts the device as a power cut does: nothing takes its leave.
    package func crash() {
        booted.withLock { $0 }.halt()
        person.leave()
        boot()
    }

    /// Has the enclave look at this sensor until the next boot, where it would look at a real one.
    func start(_ sensor: any Sensor) { booted.withLock { $0 }.start(sensor) }

    private func boot() {
        clock.restart()
        guard
            let new = try? BootedDevice(
                storage: storage, root: root, clock: clock, store: store, logStorage: log, report: reports.report)
        else {
            preconditionFailure("a simulated device that booted once boots again: nothing but itself writes its state")
        }
        booted.withLock { $0 = new }
        endpoint.connectTo(new)
        others.withLock { others in
            for other in others.values { other.connectTo(new) }
        }
        person.attend(new)
    }
}
