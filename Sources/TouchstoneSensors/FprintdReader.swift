internal import Dispatch
internal import Foundation
internal import TouchstoneCore
internal import TouchstoneEnclave

/// The conversation with fprintd, of one thread: who is enrolled, and while a finger is awaited Claim, VerifyStart, what the reader saw,
/// VerifyStop and Release.
///
/// What counts is what comes from the connection that owns fprintd's name, of the reader that was claimed, between VerifyStart and the
/// first verdict.
final class FprintdReader {
    private enum Name {
        static let service = "net.reactivated.Fprint"
        static let manager = "net.reactivated.Fprint.Manager"
        static let device = "net.reactivated.Fprint.Device"
        static let error = "net.reactivated.Fprint.Error."
        static let bus = "org.freedesktop.DBus"
        static let logind = "org.freedesktop.login1"
    }

    /// Seconds.
    private enum Limits {
        static let connecting = 3.0
        /// A service that is not there is started meanwhile.
        static let starting = 10.0
        static let answer = 3.0
        /// The reader may have to wake up.
        static let opening = 6.0
        /// A reader that is held by another program is asked for again.
        static let busy = 0.3
        /// Between two touches that the reader could not read.
        static let failed = 0.3
        /// For so long while a finger is awaited, before the passcode is asked for instead.
        static let patience = 3.0
        /// At the lock screen there is nothing else to do.
        static let gone = 3.0
        static let betweenHints = 0.1
        /// From the word that the machine will sleep to the word that it woke, the sleep itself not counted.
        static let asleep = 30.0
        /// Errors of the reader in a row, a number.
        static let errors = 5
        /// Readers that are looked at for the known one, a number.
        static let readers = 8
    }

    /// What a reader without fault ends a touch with.
    private enum Outcome { case match, noMatch, again, error, cancelled }

    private let path: String
    private let templates: Templates
    private let sensor: FprintdSensor
    private let wakeup: Wakeup
    private let owner: any SensorOwner

    private var bus: MessageBus?
    /// The connection that owns fprintd's name.
    private var service: String?
    /// The object path of the reader.
    private var device: String?
    private var reader = SensorReader(name: "")
    private var isClaimed = false
    /// Who is enrolled may have changed.
    private var isLookDue = true
    private var isRenewed = false
    /// Who was enrolled when that was last told, and the templates then; nil after a fault.
    private var known: (enrolment: SensorEnrolment, digests: [String: Data]?)?
    private var failing = Backoff()
    /// When this verification began to look.
    private var lookingSince: Double?
    /// The machine is about to sleep, or did not say yet that it woke: fprintd has stopped the reader, and takes nothing back of it.
    private var asleepSince: Double?
    private var lastHint = -Double.infinity

    init(path: String, templates: Templates, sensor: FprintdSensor, wakeup: Wakeup, owner: any SensorOwner) {
        self.path = path
        self.templates = templates
        self.sensor = sensor
        self.wakeup = wakeup
        self.owner = owner
    }

    func run() -> Never {
        while true {
            do throws(MessageBus.Failure) {
                try serve()
                failing.reset()
            } catch {
                recover(from: error)
            }
        }
    }

    /// One round: what is asked for, or the wait for it.
    private func serve() throws(MessageBus.Failure) {
        // Who is enrolled may have been told by what was lost.
        if bus?.takeLoss() == true { isLookDue = true }
        if isLookDue || sensor.hasLookers { try look() }
        if let awaited = owner.awaitedTouch { return try watch(for: awaited) }
        guard let bus else { return pause(nil) }
        if let signal = try bus.next(before: nil, or: wakeup.descriptor) {
            try hear(signal)
        } else {
            wakeup.clear()
        }
    }

    /// Begins again as far as needed; says that there is no sensor once that has lasted, or at once where nobody waits for it.
    private func recover(from failure: MessageBus.Failure) {
        isClaimed = false
        // Asked for again: whose name it is may have changed while nobody listened.
        (service, device, known) = (nil, nil, nil)
        if failure == .disconnected || failure == .late || failure == .malformed {
            // A late answer is not taken for the next one's.
            bus = nil
        }
        let now = MonotonicClock.now
        // One that had looked for so long worked: that it can be claimed again and again is not a sign of it.
        if let lookingSince, now - lookingSince >= Limits.patience { failing.reset() }
        lookingSince = nil
        let seconds = failing.fail(at: now)
        let isPatient = isAsleep || now - (failing.since ?? now) < Limits.patience
        if let awaited = owner.awaitedTouch, isPatient, failure != .refused(Self.denied) {
            owner.hear(.hint(.readerFailed, for: awaited))
            // Who waits for a look would have it fail again at once.
            return pause(seconds, heedsLookers: false)
        }
        isLookDue = false
        sensor.takeLookers()
        owner.hear(.unavailable(Self.problem(of: failure)))
        sensor.answer()
        pause(owner.awaitedTouch == nil ? nil : Limits.gone)
    }

    private static let denied = Name.error + "PermissionDenied"
    private static let noDevice = Name.error + "NoSuchDevice"
    /// No name of fprintd: there is a reader, and not the one that the enrolled fingers are of.
    private static let otherReader = "io.touchstone.OtherReader"
    private static let unknownOwner = "io.touchstone.UnknownOwner"

    private static func problem(of failure: MessageBus.Failure) -> SensorProblem {
        switch failure {
        case .disconnected: .noBus
        case .late, .malformed: .notAnswering
        case .refused(denied), .refused("org.freedesktop.DBus.Error.AccessDenied"): .notAllowed
        case .refused(noDevice): .noReader
        case .refused(otherReader): .otherReader
        case .refused(unknownOwner): .unknownOwner
        case .refused(let name): name.hasPrefix(Name.error) ? .notAnswering : .noService
        }
    }

    /// Waits so long, or until somebody wants something else: forever where nil.
    private func pause(_ seconds: Double?, heedsLookers: Bool = true) {
        let awaited = owner.awaitedTouch
        let deadline = seconds.map { MonotonicClock.now + $0 }
        while !heedsLookers || !sensor.hasLookers, owner.awaitedTouch == awaited {
            let left = deadline.map { $0 - MonotonicClock.now }
            if let left, left <= 0 { return }
            wakeup.wait(left)
            wakeup.clear()
        }
    }

    // MARK: the service

    /// The bus and the connection of fprintd, which is started where it is not there.
    private func connected() throws(MessageBus.Failure) -> (bus: MessageBus, service: String) {
        if let bus, let service { return (bus, service) }
        if bus == nil {
            service = nil
            let bus = try MessageBus(path: path, within: Limits.connecting)
            for name in [Name.service, Name.logind] { try bus.follow(name, within: Limits.answer) }
            for rule in [
                "type='signal',sender='\(Name.service)',interface='\(Name.device)'",
                "type='signal',sender='\(Name.logind)',member='PrepareForSleep'",
            ] { try bus.match(rule, within: Limits.answer) }
            self.bus = bus
            asleepSince = nil
        }
        guard let bus else { throw .disconnected }
        service = try bus.findOwner(of: Name.service, within: Limits.answer)
        if service == nil {
            try slowly { () throws(MessageBus.Failure) in
                try bus.call(
                    Name.bus, "/org/freedesktop/DBus", Name.bus, "StartServiceByName", [Name.service], number: 0,
                    within: Limits.starting)
            }
            service = try bus.findOwner(of: Name.service, within: Limits.answer)
        }
        device = nil
        guard let service else { throw .refused("org.freedesktop.DBus.Error.NameHasNoOwner") }
        // Whose name it is that answer tells; what was said before it is the word of those that had the name until then.
        for signal in bus.takeKeptSignals() {
            hearEnrolment(signal)
            hearSleep(signal)
        }
        return (bus, service)
    }

    /// The object path of the reader.
    private func resolved() throws(MessageBus.Failure) -> String {
        let (bus, service) = try connected()
        guard UserName.own != nil else { throw .refused(Self.unknownOwner) }
        let known = owner.knownReader
        // With nobody enrolled it is whichever is the default now.
        if let device, isClaimed || known == reader { return device }
        let method = known == nil ? "GetDefaultDevice" : "GetDevices"
        let paths = try slowly { () throws(MessageBus.Failure) in
            try bus.call(service, "/net/reactivated/Fprint/Manager", Name.manager, method, within: Limits.opening)
        }
        guard paths.count <= Limits.readers, paths.allSatisfy({ $0.hasPrefix("/") }) else { throw .malformed }
        guard !paths.isEmpty else { throw .refused(Self.noDevice) }
        var readers: [(path: String, reader: SensorReader)] = []
        for path in paths {
            readers.append(
                (
                    path,
                    SensorReader(name: try property("name", of: path), scanType: try property("scan-type", of: path))
                ))
        }
        if let known { readers.removeAll { $0.reader != known } }
        guard var found = readers.first else { throw .refused(Self.otherReader) }
        // Of two of the same model it is the one that somebody is enrolled with.
        if readers.count > 1 {
            for candidate in readers where try !fingers(of: candidate.path).isEmpty {
                found = candidate
                break
            }
        }
        (device, reader) = found
        return found.path
    }

    private func property(_ name: String, of device: String) throws(MessageBus.Failure) -> String {
        let (bus, service) = try connected()
        let answer = try bus.call(
            service, device, "org.freedesktop.DBus.Properties", "Get", [Name.device, name], within: Limits.answer)
        return answer.first.map { String($0.prefix(64)) } ?? ""
    }

    /// The names of the owner's fingers that are enrolled with a reader.
    private func fingers(of device: String) throws(MessageBus.Failure) -> [String] {
        let (bus, service) = try connected()
        do throws(MessageBus.Failure) {
            return try bus.call(
                service, device, Name.device, "ListEnrolledFingers", [UserName.claimed], within: Limits.answer)
        } catch {
            guard error == .refused(Name.error + "NoEnrolledPrints") else { throw error }
            return []
        }
    }

    @discardableResult
    private func tell(
        _ method: String, _ arguments: [String] = [], within seconds: Double = Limits.answer
    ) throws(MessageBus.Failure) -> [String] {
        let device = try resolved()
        let (bus, service) = try connected()
        return try slowly { () throws(MessageBus.Failure) in
            try bus.call(service, device, Name.device, method, arguments, within: seconds)
        }
    }

    /// Does what takes as long as a reader does: nobody waits meanwhile to hear who is enrolled.
    @discardableResult
    private func slowly(
        _ body: () throws(MessageBus.Failure) -> [String]
    ) throws(MessageBus.Failure) -> [String] {
        sensor.setLate(true)
        defer { sensor.setLate(false) }
        return try body()
    }

    /// Hears what came until now.
    private func hearAll() throws(MessageBus.Failure) {
        for signal in try bus?.takeSignals() ?? [] { try hear(signal) }
    }

    /// Takes note of what is not a verdict.
    private func hear(_ signal: MessageBus.Signal) throws(MessageBus.Failure) {
        if signal.changedName == Name.service, signal.texts[2] != service ?? "" {
            service = signal.texts[2].isEmpty ? nil : signal.texts[2]
            device = nil
            if service != nil { isLookDue = true }
            // What was begun there is over.
            guard isClaimed else { return }
            isClaimed = false
            throw .refused("org.freedesktop.DBus.Error.NameHasNoOwner")
        }
        hearEnrolment(signal)
        hearSleep(signal)
    }

    /// AC-50: takes note of an enrolment's end, as a service of fprintd's name tells it.
    private func hearEnrolment(_ signal: MessageBus.Signal) {
        guard signal.service == Name.service, signal.name == "\(Name.device).EnrollStatus", signal.flag == true else {
            return
        }
        isLookDue = true
        if signal.texts == ["enroll-completed"] { isRenewed = true }
    }

    // MARK: sleep

    private var isAsleep: Bool { asleepSince.map { MonotonicClock.now - $0 < Limits.asleep } ?? false }

    /// Takes logind's word, and nobody else's, that the machine will sleep or woke.
    private func hearSleep(_ signal: MessageBus.Signal) {
        guard signal.service == Name.logind, signal.name == "\(Name.logind).Manager.PrepareForSleep",
            let willSleep = signal.flag
        else { return }
        asleepSince = willSleep ? MonotonicClock.now : nil
        // What failed, failed of that.
        failing.reset()
    }

    /// Waits until the reader can be used: a verification that sleep ended begins again, and the same fingers are still awaited.
    private func waitUntilAwake() throws(MessageBus.Failure) {
        // The word may lie here still, before what fprintd did at it.
        try hearAll()
        while let began = asleepSince, isAsleep {
            if sensor.hasLookers { try look() }
            guard let bus else { throw .disconnected }
            if let signal = try bus.next(before: began + Limits.asleep, or: wakeup.descriptor) {
                try hear(signal)
            } else {
                wakeup.clear()
            }
        }
        asleepSince = nil
    }

    // MARK: who is enrolled

    @discardableResult
    private func look() throws(MessageBus.Failure) -> SensorEnrolment {
        sensor.takeLookers()
        do throws(MessageBus.Failure) {
            isLookDue = false
            let current = try currentEnrolment()
            known = current
            if owner.hear(.enrolled(current.enrolment)) {
                isRenewed = false
            } else {
                // A disk that does not take it: it is told again.
                isLookDue = true
            }
            sensor.answer()
            return current.enrolment
        } catch {
            // They are answered when that is reported.
            sensor.putBack()
            throw error
        }
    }

    private func currentEnrolment() throws(MessageBus.Failure) -> (enrolment: SensorEnrolment, digests: [String: Data]?)
    {
        if !isClaimed {
            try hearAll()
            if let remembered { return remembered }
        }
        do throws(MessageBus.Failure) {
            return try enrolment()
        } catch {
            guard !isClaimed, case .refused = error else { throw error }
            // It ended before it could answer.
            try hearAll()
            if let remembered { return remembered }
            guard error == .refused("org.freedesktop.DBus.Error.UnknownObject") else { throw error }
            // Another reader came since, or another fprintd.
            device = nil
            return try enrolment()
        }
    }

    /// Who was enrolled when fprintd ended, as it does when nobody needs it: it is not started to say so.
    ///
    /// Without it nobody enrols, and an exchange of files is seen: nil then, and if it goes on.
    private var remembered: (enrolment: SensorEnrolment, digests: [String: Data]?)? {
        guard bus != nil, service == nil, var known, templates.digests() == known.digests else { return nil }
        known.enrolment.isRenewed = isRenewed && !known.enrolment.areTemplatesRead
        return known
    }

    private func enrolment() throws(MessageBus.Failure) -> (enrolment: SensorEnrolment, digests: [String: Data]?) {
        let names = try fingers(of: try resolved())
        guard Set(names).isSubset(of: Templates.fingers), Set(names).count == names.count else { throw .malformed }
        // An enrolment that is done is told before that answer.
        if !isClaimed { try hearAll() }
        let digests = templates.digests()
        let areTemplatesRead = digests.map { digests in names.allSatisfy { digests[$0] != nil } } ?? false
        let enrolment = SensorEnrolment(
            reader: reader,
            fingers: names.map { .init(name: $0, identity: digests?[$0] ?? Data($0.utf8)) },
            areTemplatesRead: areTemplatesRead, isRenewed: isRenewed && !areTemplatesRead)
        return (enrolment, digests)
    }

    // MARK: a finger

    /// Has the reader for as long as this is awaited.
    private func watch(for awaited: String) throws(MessageBus.Failure) {
        guard try claim(for: awaited) else { return }
        isClaimed = true
        do throws(MessageBus.Failure) {
            try verify(for: awaited)
        } catch {
            // Where fprintd, our connection or the reader is gone, so is the claim.
            if case .refused(let name) = error, name != Self.noDevice, isClaimed { _ = try? tell("Release") }
            throw error
        }
        try waitUntilAwake()
        isClaimed = false
        try tell("Release")
    }

    /// Has the reader look until this is not awaited any more.
    private func verify(for awaited: String) throws(MessageBus.Failure) {
        // What was enrolled while another program had the reader was told before it was ours.
        try hearAll()
        // Nobody enrols or deletes while the reader is claimed: what is matched from here on is this set.
        var enrolled = try look()
        guard !enrolled.fingers.isEmpty else { return }
        owner.hear(.hint(nil, for: awaited))
        var errors = 0
        while owner.awaitedTouch == awaited {
            // What an earlier VerifyStop was answered with is taken here, too.
            try waitUntilAwake()
            try tell("VerifyStart", ["any"], within: Limits.opening)
            lookingSince = MonotonicClock.now
            let outcome = try outcome(for: awaited)
            switch outcome {
            case .match:
                // Root may exchange files without asking fprintd.
                if try enrolment().enrolment.fingers == enrolled.fingers {
                    owner.hear(.touched(isMatch: true, for: awaited))
                } else {
                    // The next touch is of these.
                    enrolled = try look()
                    owner.hear(.hint(.scanAgain, for: awaited))
                }
            case .noMatch: owner.hear(.touched(isMatch: false, for: awaited))
            case .error:
                errors += 1
                guard errors < Limits.errors else { throw .malformed }
                owner.hear(.hint(.readerFailed, for: awaited))
            case .again, .cancelled: break
            }
            lookingSince = nil
            if outcome != .error {
                errors = 0
                failing.reset()
            }
            do throws(MessageBus.Failure) {
                try tell("VerifyStop")
            } catch {
                guard error == .refused(Name.error + "NoActionInProgress") else { throw error }
            }
            if outcome == .error { pause(Limits.failed) }
        }
    }

    /// Asks for the reader until it is ours; false if it is not awaited any more.
    private func claim(for awaited: String) throws(MessageBus.Failure) -> Bool {
        while owner.awaitedTouch == awaited {
            try waitUntilAwake()
            do throws(MessageBus.Failure) {
                try tell("Claim", [UserName.claimed], within: Limits.opening)
                return true
            } catch {
                guard error == .refused(Name.error + "AlreadyInUse") else { throw error }
                failing.reset()
                owner.hear(.hint(.readerBusy, for: awaited))
                if sensor.hasLookers { try look() }
                pause(Limits.busy)
            }
        }
        return false
    }

    /// What becomes of this verification.
    private func outcome(for awaited: String) throws(MessageBus.Failure) -> Outcome {
        while owner.awaitedTouch == awaited {
            if sensor.hasLookers { try look() }
            guard let bus else { throw .disconnected }
            guard let signal = try bus.next(before: nil, or: wakeup.descriptor) else {
                wakeup.clear()
                continue
            }
            guard signal.name == "\(Name.device).VerifyStatus" else {
                try hear(signal)
                if isAsleep { return .cancelled }
                continue
            }
            guard signal.sender == service, signal.path == device, signal.texts.count == 1, let isDone = signal.flag
            else { continue }
            switch signal.texts[0] {
            case "verify-match" where isDone: return .match
            case "verify-no-match" where isDone: return .noMatch
            case "verify-disconnected": throw .refused(Self.noDevice)
            case "verify-unknown-error": return .error
            case let status:
                if let hint = Self.hints[status] { show(hint, for: awaited) }
                if isDone { return .again }
            }
        }
        return .cancelled
    }

    private static let hints: [String: SensorHint] = [
        "verify-retry-scan": .scanAgain, "verify-swipe-too-short": .swipeTooShort, "verify-too-fast": .swipeTooFast,
        "verify-finger-not-centered": .fingerNotCentered, "verify-remove-and-retry": .removeAndRetry,
    ]

    /// More of them than anybody can read are not shown.
    private func show(_ hint: SensorHint, for awaited: String) {
        guard MonotonicClock.now - lastHint >= Limits.betweenHints else { return }
        lastHint = MonotonicClock.now
        owner.hear(.hint(hint, for: awaited))
    }
}
