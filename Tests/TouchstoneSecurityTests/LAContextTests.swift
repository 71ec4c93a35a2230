import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneLocalAuthentication
import TouchstoneSystem
import TouchstoneTransport

@Suite struct LAContextTests {
    private let device = ScriptedDevice()

    private func context() -> LAContext {
        DeviceEndpoint.$scoped.withValue(device.endpoint) { LAContext() }
    }

    private func code(_ body: () async throws -> Bool) async -> LAError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? LAError)?.code
        }
    }

    @Test("CE-06, CE-07: the sensor is known before and after, whatever the answer")
    func biometryType() throws {
        #expect(context().biometryType == .touchID)
        let context = context()
        var error: NSError?
        #expect(unsafe !context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: &error))
        #expect((error as? LAError)?.code == .biometryNotEnrolled)
        #expect(context.biometryType == .touchID)
        let isReady = unsafe context.canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
        #expect(isReady)
        #expect(context.evaluatedPolicyDomainState == nil)
    }

    @Test("EV-03, A.5: failure carries the code and the device's words for a developer")
    func failureCarriesTheDevicesWords() async throws {
        device.set { $0.evaluation = .failure(.userFallback) }
        let context = context()
        let error = try await #require(throws: (any Error).self) {
            try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "r")
        }
        #expect((error as? LAError)?.code == .userFallback)
        #expect((error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String == "scripted")
        #expect(error.localizedDescription == "Authentication canceled.")
    }

    @Test("EV-50: invalidate ends what is pending with appCancel, and what follows with invalidContext")
    func invalidateEndsWhatIsPending() async {
        device.set { $0.evaluation = .never }
        let context = context()
        let answered = AsyncStream<LAError.Code?>.makeStream()
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { _, error in
            answered.continuation.yield((error as? LAError)?.code)
            answered.continuation.finish()
        }
        await eventually { device.state.withLock { $0.options.count } == 1 }
        context.invalidate()
        context.invalidate()
        var pending: [LAError.Code?] = []
        for await code in answered.stream { pending.append(code) }
        #expect(pending == [.appCancel])
        #expect(
            await code { try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") }
                == .invalidContext)
        await eventually { device.state.withLock { $0.contexts.isEmpty && $0.closedEvaluations == 1 } }
    }

    @Test(
        "EV-04: a context that is let go while it is evaluated lives until the reply has run; invalidate still ends it")
    func runningEvaluationKeepsTheContext() async {
        device.set { $0.evaluation = .never }
        var context: LAContext? = context()
        // Read on the reply's thread too, which a context allows and a weak reference as well.
        nonisolated(unsafe) weak let released = context
        let answered = AsyncStream<LAError.Code?>.makeStream()
        context?.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { _, error in
            #expect(released != nil, "while the reply runs")
            answered.continuation.yield((error as? LAError)?.code)
            answered.continuation.finish()
        }
        await eventually { device.state.withLock { $0.options.count } == 1 }
        context = nil
        #expect(device.state.withLock { $0.contexts.count } == 1)
        #expect(released != nil)
        released?.invalidate()
        var codes: [LAError.Code?] = []
        for await code in answered.stream { codes.append(code) }
        #expect(codes == [.appCancel])
        await eventually { released == nil && device.state.withLock { $0.contexts.isEmpty } }
    }

    @Test("EV-04: a context of a subclass is kept as one, and gone after its reply")
    func subclassesAreKept() async throws {
        final class Own: LAContext {}
        var own: Own? = DeviceEndpoint.$scoped.withValue(device.endpoint) { Own() }
        nonisolated(unsafe) weak let released = own
        device.set { $0.evaluation = .success }
        let answered = AsyncStream<Bool>.makeStream()
        own?.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { isSuccess, _ in
            answered.continuation.yield(isSuccess && released != nil)
            answered.continuation.finish()
        }
        own = nil
        var answers: [Bool] = []
        for await answer in answered.stream { answers.append(answer) }
        #expect(answers == [true])
        await eventually { released == nil && device.state.withLock { $0.contexts.isEmpty } }
    }

    @Test("EV-30: properties go with the evaluation, and a success is remembered by the device")
    func optionsAreCarried() async throws {
        let context = context()
        context.localizedCancelTitle = "No"
        context.touchIDAuthenticationAllowableReuseDuration = 10_000
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "because"))
        let options = try #require(device.state.withLock { $0.options.first })
        #expect(options.reason == "because" && options.cancelTitle == "No" && options.reuseDuration == 10_000)
        #expect(context.touchIDAuthenticationAllowableReuseDuration == 10_000, "EV-42: the setter does not clamp")
        #expect(context.evaluatedPolicyDomainState == Data([1]))
    }

    @Test("EV-54: without interaction an evaluation that needs it ends with notInteractive")
    func interactionNotAllowed() async {
        let context = context()
        context.interactionNotAllowed = true
        #expect(
            await code { try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") }
                == .notInteractive)
    }

    @Test("EV-33: a device that was restarted is asked with a new context")
    func restartedDeviceIsAskedAgain() async throws {
        let context = context()
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
        device.set { $0.contexts = [] }
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
        #expect(device.state.withLock { $0.created } == 2)
    }

    @Test func contextsAreGoneWithTheirObjects() async {
        do {
            let context = context()
            _ = await code { try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") }
        }
        await eventually { device.state.withLock { $0.contexts.isEmpty } }
    }
}
