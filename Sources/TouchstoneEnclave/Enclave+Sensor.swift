import Foundation
package import TouchstoneCore
import TouchstoneLog
import TouchstoneMemory

/// What the device's own sensor tells; it says what it saw, and every rule about it is the enclave's.
extension Enclave {
    /// Names the evaluation, or the lock screen, that a finger would help now.
    ///
    /// A reader is had by one program at a time, and a screen is locked for hours: so the lock screen asks for a finger only for a
    /// minute after each lock, also of a device that is locked already, and then leaves the reader to sudo and to the login screen.
    /// The passcode opens it as ever.
    package func awaitedTouch(now: Double) -> String? {
        guard state.sensor != nil else { return nil }
        if let evaluation { return awaitsTouch(evaluation, now: now) ? evaluation.identifier : nil }
        guard isLocked, let sensorEnd = screenLock.sensorEnd, now < sensorEnd else { return nil }
        let helps = isEnrolled && !screenLock.held.isEmpty && !isBiometryLockedOut(now: now)
        return helps ? Self.lockScreen : nil
    }

    /// Whether the sensor is to look for something else than it was told before.
    package mutating func awaitsAnotherTouch(than before: Enclave, now: Double) -> Bool {
        sensor.look(for: awaitedTouch(now: now))
        return sensor.awaited != before.sensor.awaited
    }

    /// No evaluation has such a name.
    package static let lockScreen = "lock screen"

    /// Whether this device's biometry gives such a proof at all.
    func biometryMeets(_ proof: Proof) -> Bool { state.sensor?.meets(proof) ?? proof.isMetByBiometry }

    package mutating func hear(_ report: SensorReport, now: Double) -> [EnclaveEvent] {
        guard state.sensor != nil else { return [] }
        switch report {
        case .enrolled(let enrolment):
            take(enrolment)
            return isEnrolled && sensor.status?.problem == nil ? [] : biometryEnded(now: now)
        case .unavailable(let problem):
            sensor.report(problem)
            return biometryEnded(now: now)
        case .touched(let isMatch, let awaited):
            guard awaited == awaitedTouch(now: now), sensor.status?.problem == nil else { return [] }
            let (touch, events) = touch(matches: isMatch, now: now)
            return touch == .unlocked ? [.unlocked] + events : events
        case .hint(let hint, let awaited):
            guard let evaluation, awaited == awaitedTouch(now: now), evaluation.hint != hint else { return [] }
            self.evaluation?.hint = hint
            // It stays offered: a button that comes and goes with the reader is pressed too late.
            if [.readerBusy, .readerFailed].contains(hint) { self.evaluation?.wasSensorMissed = true }
            return progressEvent(now: now)
        }
    }

    /// DS-03, AC-50: whatever changed the set, and with whichever program.
    private mutating func take(_ enrolment: SensorEnrolment) {
        // DEC-062: who is enrolled with another reader says nothing of who is with this one.
        guard knownReader == nil || knownReader == enrolment.reader else {
            sensor.report(.otherReader)
            return
        }
        sensor.identify(as: enrolment.reader.name, areTemplatesRead: enrolment.areTemplatesRead)
        // AC-53: what cannot be read just now is not another set. Where nobody is enrolled there is nothing to read.
        let isUnread = !enrolment.areTemplatesRead && !enrolment.fingers.isEmpty
        guard !isUnread || state.areTemplatesRead != true else {
            sensor.report(.templatesUnreadable)
            return
        }
        let areRead = !isUnread && !enrolment.fingers.isEmpty
        if areRead != (state.areTemplatesRead == true) { state.areTemplatesRead = areRead }
        let old = state.templates
        let new = enrolment.fingers
            .map { EnclaveState.Template(name: $0.name, digest: digest(of: Sample($0.identity))) }
            .sorted { $0.name < $1.name }
        let reader = new.isEmpty ? nil : enrolment.reader
        if state.reader != reader { state.reader = reader }
        guard new != old || enrolment.isRenewed else { return }
        if old.isEmpty { state.database.identifier = random.uuid() }
        state.templates = new
        if new.contains(where: { !old.contains($0) }) || new == old {
            note(LogFact(event: .biometryEnrolled, factors: biometryFactor))
        }
        if old.contains(where: { !new.contains($0) }) {
            note(LogFact(event: .biometryRemoved, factors: biometryFactor))
        }
        enrolmentChanged()
    }

    /// The reader that the enrolled fingers are of.
    package var knownReader: SensorReader? { isEnrolled ? state.reader : nil }

    /// Takes the owner's passcode for moving to another reader: never a finger (PC-22).
    package mutating func forgetReader(_ sealed: SealedPasscode, connection: Int = 0, now: Double)
        throws(Refused) -> PasscodeJob
    {
        guard state.sensor != nil else { throw .init(.noSensor) }
        let opened = try openSetting(sealed, for: .forgetReader, connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1)[0]
        return PasscodeJob(purpose: .forgetReader, current: try begin(secret, now: now))
    }

    /// Ends that job: nobody is enrolled, and whichever reader is there next is the one.
    mutating func finishForgettingReader(ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent] {
        guard finish(guess: key, now: now, asked: "forget-reader") != nil else { return [rejected(ticket, now: now)] }
        let done = EnclaveEvent.answered(ticket: ticket, .done)
        guard isEnrolled else { return [done] }
        // What was seen was of the reader that is forgotten, or that it is not there.
        sensor.report(nil)
        endEnrolment(asked: "forget-reader")
        return [done] + biometryEnded(now: now)
    }

    /// Takes the owner's passcode for a device without a sensor of its own, which uses fprintd's readers from then on (PC-22).
    ///
    /// The passcode is sealed for these paths, so that nobody who carries it leads the device to an fprintd of his own.
    package mutating func addReader(
        bus: String, templates: String, _ sealed: SealedPasscode, connection: Int = 0, now: Double
    ) throws(Refused) -> PasscodeJob {
        guard state.sensor == nil else { throw .init(.hasSensor) }
        guard [bus, templates].allSatisfy(Self.isPath) else { throw .init(.invalidName) }
        // Another program would say what fprintd saw. Where the machine's own fprintd is not the one, somebody makes a new device.
        guard state.isSimulated || (bus, templates) == Self.fprintd else { throw .init(.invalidName) }
        let opened = try openSetting(sealed, for: .addReader(bus: bus, templates: templates), connection: connection)
        let secret = try Self.passcodes(in: opened, count: 1)[0]
        return PasscodeJob(
            purpose: .addReader(.fprintd(bus: bus, templates: templates)), current: try begin(secret, now: now))
    }

    /// The machine's: the socket of its D-Bus, and the directory of its templates.
    private static let fprintd = ("/run/dbus/system_bus_socket", "/var/lib/fprint")

    private static func isPath(_ text: String) -> Bool {
        text.hasPrefix("/") && text.utf8.count < Limits.pathBytes && !text.utf8.contains(0)
    }

    /// Ends that job: nobody is enrolled, until the sensor says who is.
    mutating func finishAdding(_ source: SensorSource, ticket: String, key: SecretBytes, now: Double) -> [EnclaveEvent]
    {
        guard finish(guess: key, now: now, asked: "add-reader") != nil else { return [rejected(ticket, now: now)] }
        if isEnrolled { endEnrolment(asked: "add-reader") }
        (state.sensor, state.biometryType) = (source, .touchID)
        sensor.attach(source)
        return [.answered(ticket: ticket, .done)] + biometryEnded(now: now)
    }

    private mutating func endEnrolment(asked: String) {
        (state.reader, state.areTemplatesRead, state.templates) = (nil, false, [])
        note(LogFact(event: .biometryRemoved, asked: asked, factors: [.passcode]))
        enrolmentChanged()
    }

    /// Goes on without the sensor where an evaluation waits for it and it can help no more.
    mutating func biometryEnded(now: Double) -> [EnclaveEvent] {
        guard let evaluation, [.permission, .biometry, .retry].contains(evaluation.phase),
            let cause = biometryRefusal(of: evaluation, now: now)
        else { return [] }
        return biometryRefused(cause, now: now)
    }
}
