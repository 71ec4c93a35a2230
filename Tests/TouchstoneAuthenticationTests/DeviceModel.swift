import LocalAuthentication
import TouchstoneTesting

/// The state machine of section 2.1, with the states of A.1 and A.2, written down a second time, from the rules: what a device is to
/// answer to anything that happens.
struct DeviceModel {
    /// What may happen, sensible or not.
    enum Event: Hashable, CustomStringConvertible {
        case evaluate(app: Int, slot: Int, isOwner: Bool, isHidden: Bool, isSilent: Bool, reuses: Bool)
        case invalidate(app: Int, slot: Int)
        case letGo(app: Int, slot: Int)
        case enrolled, stranger, removed
        case passcode(isRight: Bool)
        case cancel, fallback, tryAgain
        case permission(Bool)
        case setPermission(app: Int, Bool?)
        case foreground(app: Int, Bool)
        case lock, lockFinger(isEnrolled: Bool), lockPasscode(isRight: Bool)
        case reboot
        case enroll, remove
        case pass(hours: Double)
        case attend(Bool)

        var description: String {
            switch self {
            case .evaluate(let app, let slot, let isOwner, let isHidden, let isSilent, let reuses):
                "app \(app), context \(slot): policy \(isOwner ? 2 : 1)" + (isHidden ? ", no fallback" : "")
                    + (isSilent ? ", no interaction" : "") + (reuses ? ", reuse" : "")
            case .invalidate(let app, let slot): "app \(app), context \(slot): invalidate"
            case .letGo(let app, let slot): "app \(app), context \(slot): let go"
            case .enrolled: "enrolled finger or face"
            case .stranger: "no match"
            case .removed: "finger or face that is enrolled no more"
            case .passcode(let isRight): isRight ? "passcode" : "wrong passcode"
            case .cancel: "cancel"
            case .fallback: "fallback"
            case .tryAgain: "try again"
            case .permission(let isAllowed): isAllowed ? "allow" : "don't allow"
            case .setPermission(let app, let isAllowed):
                "settings: app \(app) \(isAllowed.map { $0 ? "allowed" : "denied" } ?? "to be asked")"
            case .foreground(let app, let isForeground):
                "app \(app) to the \(isForeground ? "foreground" : "background")"
            case .lock: "lock"
            case .lockFinger(let isEnrolled): "lock screen: " + (isEnrolled ? "enrolled finger" : "no match")
            case .lockPasscode(let isRight): "lock screen: " + (isRight ? "passcode" : "wrong passcode")
            case .reboot: "reboot"
            case .enroll: "enrol"
            case .remove: "remove a finger"
            case .pass(let hours): "\(hours) h"
            case .attend(let isAttended): isAttended ? "somebody comes" : "everybody goes"
            }
        }
    }

    enum Phase { case permission, biometry, retry, fallback, passcode }

    struct Context {
        var isInvalid = false
        var hasFinger = false
        var hasPasscode = false
    }

    struct Evaluation {
        var number: Int
        var app: Int
        var slot: Int
        var isOwner: Bool
        var isHidden: Bool
        var reuses: Bool
        var isSilent: Bool
        var phase: Phase
        var misses = 0
        /// Nobody but it has its context any more (EV-04).
        var isLetGo = false
    }

    static let apps = 3
    static let slots = 2
    /// The last app does not say what it wants Face ID for (CE-11).
    static func isDescribed(_ app: Int) -> Bool { app < apps - 1 }

    let isTouch: Bool
    var fingers = [1]
    private var misses = 0
    private(set) var isLocked = false
    private var wasUnlocked = true
    private var now = 0.0
    private var lastUnlock = 0.0
    /// When a finger opened the lock screen last, if nothing else has since.
    private var lastFinger = -Double.infinity
    private var isWindowOpen = false
    private var lastPasscode = 0.0
    /// The lock screen would still take a finger.
    private var isHeld = false
    private var wrongPasscodes = 0
    private var isWrongKnown = false
    private(set) var isAttended = true
    private var background: Set<Int> = []
    private var permissions: [Int: Bool] = [:]
    private var contexts = [[Context]](
        repeating: [Context](repeating: Context(), count: slots), count: apps)
    private(set) var running: Evaluation?
    /// Those of other apps than the one whose prompt is up, in their order; one of each app.
    private(set) var waiting: [Evaluation] = []
    /// Prompts so far.
    private(set) var prompts = 0
    /// Evaluations so far.
    private(set) var evaluations = 0
    /// The code of each that is over; nil is success.
    private(set) var replies: [Int: LAError.Code?] = [:]

    init(isTouch: Bool) { self.isTouch = isTouch }

    // MARK: what the rules say of the state

    private var isLockedOut: Bool {
        misses >= 5 || !wasUnlocked || now - max(lastUnlock, lastPasscode) > 48
            || (now - lastPasscode > 156 && now - lastFinger > 4)
    }

    private func mayUse(_ app: Int) -> Bool { isTouch || (Self.isDescribed(app) && permissions[app] != false) }

    private var sensorObstacle: LAError.Code? {
        fingers.isEmpty ? .biometryNotEnrolled : isLockedOut ? .biometryLockout : nil
    }

    /// In an evaluation: one by an app without a usage description counts as denied.
    private func obstacle(_ app: Int) -> LAError.Code? { mayUse(app) ? sensorObstacle : .biometryNotAvailable }

    /// What `canEvaluatePolicy` is to say of policy 1.
    func canEvaluate(_ app: Int) -> LAError.Code? {
        !isTouch && permissions[app] == false ? .biometryNotAvailable : sensorObstacle
    }

    func permission(_ app: Int) -> Bool? { permissions[app] }

    var isFallbackOffered: Bool {
        guard let running, !running.isHidden else { return false }
        return running.phase == .fallback || (isTouch && running.phase == .biometry && running.misses >= 1)
    }

    /// The delays of PC-01 are another test's: no third wrong passcode in a row that counts.
    private var mayBeWrong: Bool { isWrongKnown || wrongPasscodes < 2 }

    /// Whether the event means anything now: a person acts only on what is there.
    func isPossible(_ event: Event) -> Bool {
        switch event {
        case .evaluate: true
        case .invalidate, .letGo: true
        case .enrolled, .stranger, .removed, .cancel, .fallback, .tryAgain, .permission: running != nil
        case .passcode(let isRight): running != nil && (isRight || running?.phase != .passcode || mayBeWrong)
        case .setPermission: !isTouch
        case .foreground, .lock, .reboot, .pass: true
        case .lockFinger: isLocked
        case .lockPasscode(let isRight): isLocked && (isRight || mayBeWrong)
        case .enroll: fingers.count < 2
        case .remove: !fingers.isEmpty
        case .attend(let isAttended): isAttended != self.isAttended
        }
    }

    // MARK: what happens

    mutating func happens(_ event: Event) {
        switch event {
        case .evaluate(let app, let slot, let isOwner, let isHidden, let isSilent, let reuses):
            evaluate(app, slot, isOwner, isHidden, isSilent, reuses)
        case .invalidate(let app, let slot):
            contexts[app][slot].isInvalid = true
            endIf({ $0.app == app && $0.slot == slot && !$0.isLetGo }, .appCancel)
        case .letGo(let app, let slot):
            contexts[app][slot] = Context()
            if let running, running.app == app, running.slot == slot { self.running?.isLetGo = true }
            for place in waiting.indices where waiting[place].app == app && waiting[place].slot == slot {
                waiting[place].isLetGo = true
            }
        case .enrolled: touch(isMatch: !fingers.isEmpty)
        case .stranger, .removed: touch(isMatch: false)
        case .passcode(let isRight):
            guard let running, running.phase == .passcode else { return }
            guard isRight else { return wrongPasscode() }
            rightPasscode()
            if !running.isLetGo { contexts[running.app][running.slot].hasPasscode = true }
            end(nil)
        case .cancel: end(.userCancel)
        case .fallback:
            guard let running, isFallbackOffered else { return }
            if running.isOwner { self.running?.phase = .passcode } else { end(.userFallback) }
        case .tryAgain:
            guard let running, running.phase == .retry else { return }
            if let obstacle = obstacle(running.app) { refuse(obstacle) } else { self.running?.phase = .biometry }
        case .permission(let isAllowed):
            guard let running, running.phase == .permission else { return }
            setPermission(running.app, isAllowed)
        case .setPermission(let app, let isAllowed): setPermission(app, isAllowed)
        case .foreground(let app, true): background.remove(app)
        case .foreground(let app, false):
            background.insert(app)
            endIf({ $0.app == app }, .systemCancel)
        case .lock:
            guard !isLocked else { return }
            isLocked = true
            isHeld = sensorObstacle == nil
            forgetProofs()
            endIf({ _ in true }, .systemCancel, waitingToo: false)
        case .lockFinger(let isEnrolled): lockFinger(isEnrolled && !fingers.isEmpty)
        case .lockPasscode(let isRight):
            guard isRight else { return wrongPasscode() }
            rightPasscode()
            (isLocked, wasUnlocked, isWindowOpen) = (false, true, false)
            (lastUnlock, lastFinger) = (now, -.infinity)
        case .reboot:
            endIf({ _ in true }, .systemCancel)
            (isLocked, wasUnlocked, isHeld, isWindowOpen, isAttended) = (true, false, false, false, true)
            isWrongKnown = false
            background = []
            forgetProofs()
        case .enroll:
            fingers.append(fingers.contains(1) ? 2 : 1)
            enrolmentChanged()
        case .remove:
            fingers.removeLast()
            enrolmentChanged()
            if fingers.isEmpty { isHeld = false }
        case .pass(let hours): now += hours
        case .attend(let isAttended):
            self.isAttended = isAttended
            if !isAttended { endIf({ _ in true }, .systemCancel, waitingToo: false) }
        }
    }

    private mutating func evaluate(
        _ app: Int, _ slot: Int, _ isOwner: Bool, _ isHidden: Bool, _ isSilent: Bool, _ reuses: Bool
    ) {
        evaluations += 1
        ask(
            Evaluation(
                number: evaluations - 1, app: app, slot: slot, isOwner: isOwner, isHidden: isHidden, reuses: reuses,
                isSilent: isSilent, phase: .biometry), isCalled: false)
    }

    private mutating func ask(_ new: Evaluation, isCalled: Bool) {
        let (number, app, slot, isOwner) = (new.number, new.app, new.slot, new.isOwner)
        let (isSilent, reuses) = (new.isSilent, new.reuses)
        let context = new.isLetGo ? Context() : contexts[app][slot]
        if context.isInvalid { return replies[number] = .some(.invalidContext) }
        if context.hasFinger || (isOwner && context.hasPasscode) { return replies[number] = .some(nil) }
        if reuses, isWindowOpen, !isLocked, mayUse(app), (now - lastUnlock) * 3600 <= 300 {
            if !new.isLetGo { contexts[app][slot].hasFinger = true }
            return replies[number] = .some(nil)
        }
        if !isOwner, let obstacle = obstacle(app) { return replies[number] = .some(obstacle) }
        if isLocked || isSilent || background.contains(app) || !isAttended {
            return replies[number] = .some(.notInteractive)
        }
        let isOwn = running.map { $0.app == app } ?? true
        if !isOwn || !(isCalled || waiting.isEmpty) {
            if let place = waiting.firstIndex(where: { $0.app == app }) {
                replies[waiting[place].number] = .some(.systemCancel)
                waiting[place] = new
            } else {
                waiting.append(new)
                if isOwn { end(.systemCancel) }
            }
            return
        }
        if let running { replies[running.number] = .some(.systemCancel) }
        prompts += 1
        let isAsked = !isTouch && permissions[app] == nil
        var begun = new
        begun.phase = obstacle(app) != nil ? .passcode : isAsked ? .permission : .biometry
        running = begun
    }

    /// The turn of the first of those that wait has come, where no prompt is up.
    private mutating func callNext() {
        while running == nil, !waiting.isEmpty { ask(waiting.removeFirst(), isCalled: true) }
    }

    private mutating func touch(isMatch: Bool) {
        guard let running, running.phase == .biometry else { return }
        if let obstacle = obstacle(running.app) { return refuse(obstacle) }
        if isMatch {
            misses = 0
            if !running.isLetGo { contexts[running.app][running.slot].hasFinger = true }
            return end(nil)
        }
        misses += 1
        self.running?.misses += 1
        if misses >= 5 { return refuse(.biometryLockout) }
        if running.misses + 1 >= (isTouch ? 3 : 2) {
            if running.isOwner {
                self.running?.phase = .passcode
            } else if isTouch || running.isHidden {
                end(.authenticationFailed)
            } else {
                self.running?.phase = .fallback
            }
        } else if !isTouch {
            self.running?.phase = .retry
        }
    }

    private mutating func lockFinger(_ isMatch: Bool) {
        if isLockedOut { isHeld = false }
        guard isHeld, !fingers.isEmpty else { return }
        guard isMatch else {
            misses += 1
            if isLockedOut { isHeld = false }
            return
        }
        (isLocked, isHeld, misses, isWindowOpen) = (false, false, 0, true)
        (lastUnlock, lastFinger) = (now, now)
    }

    private mutating func setPermission(_ app: Int, _ isAllowed: Bool?) {
        permissions[app] = isAllowed
        if isAllowed == false {
            for slot in contexts[app].indices { contexts[app][slot].hasFinger = false }
        }
        guard let running, running.app == app, [.permission, .biometry, .retry].contains(running.phase) else { return }
        if let obstacle = obstacle(app) { return refuse(obstacle) }
        if running.phase == .permission, isAllowed != nil { self.running?.phase = .biometry }
    }

    /// No finger helps any more.
    private mutating func refuse(_ code: LAError.Code) {
        if running?.isOwner == true { running?.phase = .passcode } else { end(code) }
    }

    private mutating func rightPasscode() {
        (misses, wrongPasscodes, isWrongKnown) = (0, 0, false)
        lastPasscode = now
    }

    private mutating func wrongPasscode() {
        if !isWrongKnown { wrongPasscodes += 1 }
        isWrongKnown = true
    }

    private mutating func enrolmentChanged() {
        isWindowOpen = false
        for app in contexts.indices {
            for slot in contexts[app].indices { contexts[app][slot].hasFinger = false }
        }
    }

    private mutating func forgetProofs() {
        for app in contexts.indices {
            for slot in contexts[app].indices {
                (contexts[app][slot].hasFinger, contexts[app][slot].hasPasscode) = (false, false)
            }
        }
    }

    private mutating func endIf(_ isIt: (Evaluation) -> Bool, _ code: LAError.Code, waitingToo: Bool = true) {
        if waitingToo {
            for one in waiting where isIt(one) { replies[one.number] = .some(code) }
            waiting.removeAll(where: isIt)
        }
        if let running, isIt(running) { end(code) }
    }

    private mutating func end(_ code: LAError.Code?) {
        if let running { replies[running.number] = .some(code) }
        running = nil
        callNext()
    }
}
