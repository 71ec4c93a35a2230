import Foundation
import LocalAuthentication
import Security
import Synchronization
import Testing
import TouchstoneTesting

/// The shapes in which most code for devices calls Touch ID: nobody keeps the context (EV-04).
///
/// `BootedDeviceTests` has them against real daemons.
@Suite(.timeLimit(.minutes(10))) struct ArticleShapesTests {
    private let device: SimulatedDevice

    init() throws { device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits) }

    enum Shape: CaseIterable, Sendable {
        case ofAFunction, ofAnExpression, ofAnAccessControl, ofARight

        /// Begins an evaluation and forgets what it was begun with.
        func begin(_ replies: Replies) throws {
            switch self {
            case .ofAFunction: authenticateMe(replies)
            case .ofAnExpression:
                LAContext().evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore"
                ) { success, error in
                    DispatchQueue.main.async { replies.take(success, error) }
                }
            case .ofAnAccessControl:
                let control = try #require(
                    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .biometryAny, nil))
                LAContext().evaluateAccessControl(
                    control, operation: .useItem, localizedReason: "To add a new chore"
                ) { success, error in
                    DispatchQueue.main.async { replies.take(success, error) }
                }
            case .ofARight:
                LARight().authorize(localizedReason: "To add a new chore") { error in replies.take(error == nil, error)
                }
            }
        }

        private func authenticateMe(_ replies: Replies) {
            let context = LAContext()
            var error: NSError?
            if context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error) {
                context.evaluatePolicy(
                    .deviceOwnerAuthenticationWithBiometrics, localizedReason: "To add a new chore"
                ) { success, error in
                    DispatchQueue.main.async { replies.take(success, error) }
                }
            }
        }
    }

    @Test("EV-04: whoever forgets the context hears of the finger, in 100 of 100 runs", arguments: Shape.allCases)
    func succeeds(shape: Shape) async throws {
        try await device.run {
            for run in 1...100 {
                let replies = Replies()
                try shape.begin(replies)
                await eventually("run \(run): no prompt") { device.prompts.count == run }
                device.present(.finger(1))
                #expect(await replies.only() == nil, "run \(run)")
            }
        }
    }

    @Test("EV-04, EV-50: what is kept can be invalidated all the same, which replies -9")
    func invalidated() async {
        await device.run {
            let replies = Replies()
            let context = LAContext()
            replies.collect(biometrics, on: context)
            await eventually { device.prompts.count == 1 }
            context.invalidate()
            #expect(await replies.only() == .appCancel)
        }
    }

    @Test("EV-04: a device that goes away ends an evaluation whose context was forgotten, with -4")
    func deviceGone() async throws {
        let replies = Replies()
        try await device.run {
            try Shape.ofAnExpression.begin(replies)
            await eventually { device.prompts.count == 1 }
            device.reboot()
            #expect(await replies.only() == .systemCancel)
        }
    }

    @Test("EV-04: the asynchronous forms keep the context as well")
    func asynchronous() async throws {
        try await device.run { () async throws in
            device.present(.finger(1), .finger(1))
            #expect(try await LAContext().evaluatePolicy(biometrics, localizedReason: "To add a new chore"))
            try await LARight().authorize(localizedReason: "To add a new chore")
        }
    }
}
