import LocalAuthentication
import Testing
import TouchstoneTesting

/// The same for the same seed, everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Random lives of a device against the state machine of section 2.1, written down a second time, as a table of what a person sees.
@Suite(.timeLimit(.minutes(10))) struct RandomEventsTests {
    /// What the device should know.
    struct Model {
        let isTouch: Bool
        var fingers = [1]
        var misses = 0
        var isLocked = false
        var wasUnlocked = true
        var now = 0.0
        var lastUnlock = 0.0
        var lastFinger = -Double.infinity
        var lastPasscode = 0.0
        var prompts = 0
        var hasFinger = false
        var hasPasscode = false
        /// The lock screen would still take a finger: gone once biometry is refused, until the passcode is used.
        var isHeld = false

        var isRefused: Bool {
            misses >= 5 || !wasUnlocked || now - max(lastUnlock, lastPasscode) > 48
                || (now - lastPasscode > 156 && now - lastFinger > 4)
        }
        var biometry: LAError.Code? { fingers.isEmpty ? .biometryNotEnrolled : isRefused ? .biometryLockout : nil }

        mutating func passcodeUsed() {
            misses = 0
            lastPasscode = now
        }
    }

    enum Phase { case biometry, fallback, passcode }

    @Test("2.1: no sequence of events leads anywhere but where the rules say", arguments: 0..<80)
    func followsTheRules(seed: Int) async throws {
        var random = SplitMix(state: UInt64(seed))
        let isTouch = Bool.random(using: &random)
        let device = try SimulatedDevice(biometry: isTouch ? .touchID : .faceID, passcode: "1234", fingers: 1)
        var model = Model(isTouch: isTouch)
        try await device.run {
            var context = LAContext()
            for _ in 0..<10 {
                switch Int.random(in: 0..<16, using: &random) {
                case 0: try reboot(device, &model)
                case 1, 2: try useLockScreen(device, &model, &random)
                case 3:
                    let hours: Double = ([0.5, 3, 5, 30, 49, 160] as [Double]).randomElement(using: &random) ?? 1
                    device.advance(by: .hours(hours))
                    model.now += hours
                case 4:
                    guard model.fingers.count < 2 else { continue }
                    model.fingers.append(try device.enrollFinger())
                    model.hasFinger = false
                case 5:
                    guard let finger = model.fingers.popLast() else { continue }
                    try device.removeFinger(finger)
                    model.hasFinger = false
                    if model.fingers.isEmpty { model.isHeld = false }
                default:
                    if Bool.random(using: &random) {
                        context = LAContext()
                        (model.hasFinger, model.hasPasscode) = (false, false)
                    }
                    await evaluateOnce(on: context, device, &model, &random)
                }
                #expect(canEvaluate(biometrics) == model.biometry)
                #expect(canEvaluate(deviceOwner) == nil)
                #expect(device.prompts.count == model.prompts)
            }
        }
    }

    private func reboot(_ device: SimulatedDevice, _ model: inout Model) throws {
        device.reboot()
        (model.isLocked, model.wasUnlocked, model.isHeld) = (true, false, false)
        (model.hasFinger, model.hasPasscode) = (false, false)
    }

    private func useLockScreen(
        _ device: SimulatedDevice, _ model: inout Model, _ random: inout SplitMix
    ) throws {
        try device.lock()
        if !model.isLocked { model.isHeld = model.biometry == nil }
        model.isLocked = true
        (model.hasFinger, model.hasPasscode) = (false, false)
        for _ in 0..<Int.random(in: 0..<3, using: &random) {
            model.isHeld = model.isHeld && model.biometry == nil
            #expect(try !device.unlock(finger: nil))
            if model.isHeld { model.misses += 1 }
        }
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            guard let finger = model.fingers.first else { return }
            model.isHeld = model.isHeld && model.biometry == nil
            #expect(try device.unlock(finger: finger) == model.isHeld)
            guard model.isHeld else { return }
            (model.isLocked, model.misses) = (false, 0)
            (model.lastUnlock, model.lastFinger) = (model.now, model.now)
        case 1:
            try device.unlock(passcode: "1234")
            model.passcodeUsed()
            (model.isLocked, model.wasUnlocked) = (false, true)
            (model.lastUnlock, model.lastFinger) = (model.now, -.infinity)
        default: break
        }
    }

    /// One evaluation, with actions until the model says that it is over.
    private func evaluateOnce(
        on context: LAContext, _ device: SimulatedDevice, _ model: inout Model, _ random: inout SplitMix
    ) async {
        let policy = Bool.random(using: &random) ? biometrics : deviceOwner
        let isHidden = Int.random(in: 0..<4, using: &random) == 0
        context.localizedFallbackTitle = isHidden ? "" : nil
        let expected = plan(policy, isHidden, device, &model, &random)
        let replies = Replies()
        replies.collect(policy, on: context)
        #expect(await replies.only() == expected)
    }

    private func plan(
        _ policy: LAPolicy, _ isHidden: Bool, _ device: SimulatedDevice, _ model: inout Model, _ random: inout SplitMix
    ) -> LAError.Code? {
        let isOwner = policy == deviceOwner
        if model.hasFinger || (isOwner && model.hasPasscode) { return nil }
        if !isOwner, let obstacle = model.biometry { return obstacle }
        if model.isLocked { return .notInteractive }
        model.prompts += 1
        var phase: Phase = model.biometry == nil ? .biometry : .passcode
        var misses = 0
        for _ in 0..<6 {
            let isOffered = !isHidden && misses >= (model.isTouch ? 1 : 2)
            switch (Int.random(in: 0..<10, using: &random), phase) {
            case (0, _):
                device.present(.cancel)
                return .userCancel
            case (1...2, let asked):
                device.present(.fallback)
                if asked == .passcode || !isOffered { continue }
                guard isOwner else { return .userFallback }
                phase = .passcode
            case (3, let asked):
                device.present(.passcode("1234"))
                guard asked == .passcode else { continue }
                model.passcodeUsed()
                model.hasPasscode = true
                return nil
            case (4, _): device.present(.passcode("9999"))
            case (5, let asked):
                device.present(.finger(model.fingers.first ?? 9))
                guard asked == .biometry else { continue }
                model.misses = 0
                model.hasFinger = true
                return nil
            case (_, let asked):
                device.present(.nonMatch)
                guard asked == .biometry else { continue }
                misses += 1
                model.misses += 1
                if model.misses >= 5 {
                    guard isOwner else { return .biometryLockout }
                    phase = .passcode
                } else if misses >= (model.isTouch ? 3 : 2) {
                    if isOwner {
                        phase = .passcode
                    } else if model.isTouch || isHidden {
                        return .authenticationFailed
                    } else {
                        phase = .fallback
                    }
                }
            }
        }
        device.present(.cancel)
        return .userCancel
    }
}
