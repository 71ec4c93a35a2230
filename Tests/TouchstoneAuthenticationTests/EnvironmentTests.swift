import Foundation
import LocalAuthentication
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneSystem
import TouchstoneTesting
import TouchstoneTransport

@Suite(.timeLimit(.minutes(10))) struct EnvironmentTests {
    /// Writes down what it is told.
    private final class Witness: NSObject, LAEnvironment.Observer {
        private let told = Mutex<[(old: LAEnvironment.State, new: LAEnvironment.State)]>([])

        var changes: [(old: LAEnvironment.State, new: LAEnvironment.State)] { told.withLock { $0 } }
        var states: [LAEnvironment.State] { changes.map(\.new) }

        func environment(
            _ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State
        ) {
            #expect(!Thread.isMainThread)
            #expect(environment === LAEnvironment.currentUser)
            let state = environment.state
            told.withLock { $0.append((oldState, state)) }
        }
    }

    private let device: SimulatedDevice

    init() throws {
        device = try SimulatedDevice(passcode: "1234", fingers: 1)
    }

    // MARK: state

    @Test("CE-19: what is enrolled and set is told without a context and without a prompt")
    func ready() throws {
        try device.run {
            let state = LAEnvironment.currentUser.state
            let biometry = try #require(state.biometry)
            #expect(biometry.biometryType == .touchID && biometry.localizedName == "Touch ID")
            #expect(biometry.iconSystemName == "touchid")
            #expect(biometry.isEnrolled && biometry.isUsable && !biometry.isLockedOut)
            #expect(!biometry.builtInSensorInaccessible)
            let password = try #require(state.userPassword)
            #expect(password.isSet && password.isUsable)
            #expect(state.companions.isEmpty)
            #expect(Set(state.allMechanisms) == [biometry, password])
            #expect(device.prompts.isEmpty)
        }
    }

    @Test("CE-19: a camera is Face ID, and no sensor is no mechanism at all")
    func sensors() throws {
        try SimulatedDevice(biometry: .faceID, passcode: "1234", fingers: 1).run {
            let biometry = LAEnvironment.currentUser.state.biometry
            #expect(biometry?.biometryType == .faceID && biometry?.localizedName == "Face ID")
        }
        try SimulatedDevice(biometry: .none, passcode: "1234").run {
            let state = LAEnvironment.currentUser.state
            #expect(state.biometry == nil && state.userPassword?.isUsable == true)
            #expect(state.allMechanisms.count == 1)
        }
    }

    @Test("CE-19: isUsable is what canEvaluatePolicy says, in every state of the device")
    func usable() async throws {
        func expectAgreement(_ comment: Comment) {
            let state = LAEnvironment.currentUser.state
            #expect(state.biometry?.isUsable == (canEvaluate(biometrics) == nil), comment)
            #expect(state.userPassword?.isUsable == (canEvaluate(deviceOwner) == nil), comment)
        }
        let device = try SimulatedDevice()
        try await device.run {
            expectAgreement("nothing is set")
            #expect(LAEnvironment.currentUser.state.userPassword?.isSet == false)
            try device.setPasscode("1234")
            expectAgreement("a passcode")
            #expect(LAEnvironment.currentUser.state.biometry?.isEnrolled == false)
            #expect(LAEnvironment.currentUser.state.biometry?.stateHash.isEmpty == true)
            try device.enrollFinger()
            expectAgreement("a finger")
            await device.lockOutBiometry()
            expectAgreement("locked out")
            try device.lockAndUnlock(passcode: "1234")
            expectAgreement("unlocked")
            device.reboot()
            expectAgreement("booted")
            #expect(LAEnvironment.currentUser.state.biometry?.isLockedOut == true)
        }
    }

    @Test("CE-19, EV-26: five non-matches lock biometry out, and its hash stays; the passcode ends it")
    func lockout() async throws {
        try await device.run {
            let before = LAEnvironment.currentUser.state
            await device.lockOutBiometry()
            let lockedOut = try #require(LAEnvironment.currentUser.state.biometry)
            #expect(lockedOut.isLockedOut && lockedOut.isEnrolled && !lockedOut.isUsable)
            #expect(lockedOut.stateHash == before.biometry?.stateHash)
            try device.lockAndUnlock(passcode: "1234")
            #expect(LAEnvironment.currentUser.state == before)
        }
    }

    @Test("CE-19, DS-05, DS-09: the hash is that of the domain state, and another app's is another")
    func stateHash() throws {
        let (own, domain) = device.run {
            (LAEnvironment.currentUser.state.biometry?.stateHash, LAContext().domainState.biometry.stateHash)
        }
        #expect(own != nil && own == domain)
        let other = device.run(as: "org.example.other") { LAEnvironment.currentUser.state.biometry?.stateHash }
        #expect(other != nil && other != own)
    }

    @Test("AT-15: how many fingers are enrolled shows in nothing but the hash")
    func fingersAreNotCounted() throws {
        try device.run {
            typealias Method = AuthenticationInterface.GetEnvironment
            let client = try DeviceEndpoint.current().client()
            let one = try client.call(Method.self, Empty()).environment
            try device.enrollFinger()
            try device.enrollFinger()
            var three = try client.call(Method.self, Empty()).environment
            #expect(three.domainState != one.domainState && three.domainState?.count == one.domainState?.count)
            three.domainState = one.domainState
            #expect(three == one)
        }
    }

    @Test("DEC-589: of one app 64 connections watch the environment; another app's does, too")
    func watchers() async throws {
        typealias Method = AuthenticationInterface.GetEnvironment
        let told = Mutex(0)
        func watch(as app: String) throws -> VarlinkClient {
            try device.run(as: app) {
                let client = try DeviceEndpoint.current().client()
                Thread.detachNewThread {
                    try? client.stream(Method.self, Empty()) { _ in
                        told.withLock { $0 += 1 }
                        return true
                    }
                }
                return client
            }
        }
        /// What a connection more is told: nil if it may watch.
        func refusal() throws -> String? {
            try device.run(as: "org.example.watcher") {
                let client = try DeviceEndpoint.current().client()
                defer { client.close() }
                do {
                    try client.stream(Method.self, Empty()) { _ in false }
                    return nil
                } catch let error as RemoteError {
                    return error.as(AuthenticationInterface.Failed.self)?.reason
                }
            }
        }
        var clients = try (0..<64).map { _ in try watch(as: "org.example.watcher") }
        await eventually { told.withLock { $0 } == 64 }
        #expect(try refusal() == RefusalCause.tooManyWait.rawValue)
        clients.append(try watch(as: "org.example.another"))
        await eventually { told.withLock { $0 } == 65 }
        // All of them hear of a change, and one that ends makes room.
        try device.enrollFinger()
        await eventually { told.withLock { $0 } >= 130 }
        clients[0].close()
        try await eventually { try refusal() == nil }
        for client in clients { client.close() }
    }

    @Test func aStateIsAValue() throws {
        try device.run {
            let state = LAEnvironment.currentUser.state
            #expect(state.copy() as? LAEnvironment.State == state)
            #expect(state == LAEnvironment.currentUser.state && state.hash == LAEnvironment.currentUser.state.hash)
            try device.enrollFinger()
            #expect(state != LAEnvironment.currentUser.state)
        }
    }

    // MARK: observers

    @Test("CE-19: each change is told once, with the state before, and the new one is there already")
    func everyChangeOnce() async throws {
        try await device.run {
            let environment = LAEnvironment.currentUser
            let witness = Witness()
            var states = [environment.state]
            environment.addObserver(witness)
            environment.addObserver(witness)
            func expectChange(_ comment: Comment, _ change: () async throws -> Void) async rethrows {
                try await change()
                states.append(environment.state)
                #expect(states.last != states.dropLast().last, comment)
                await eventually(comment) { witness.changes.count >= states.count - 1 }
            }
            try await expectChange("a finger more") { try device.enrollFinger() }
            try await expectChange("a finger less") { try device.removeFinger(2) }
            await expectChange("locked out") { await device.lockOutBiometry() }
            try await expectChange("unlocked") { try device.lockAndUnlock(passcode: "1234") }
            try await expectChange("no finger") { try device.removeFinger(1) }
            try await expectChange("no passcode") { try device.removePasscode("1234") }
            try await expectChange("another passcode") { try device.setPasscode("5678") }
            environment.removeObserver(witness)
            #expect(witness.states == Array(states.dropFirst()))
            #expect(witness.changes.map(\.old) == Array(states.dropLast()))
        }
    }

    @Test("CE-19: what changes nothing is not told: a match, a miss, a lock, a new passcode, a prompt")
    func nothingElseIsTold() async throws {
        try await device.run {
            let environment = LAEnvironment.currentUser
            let witness = Witness()
            environment.addObserver(witness)
            device.present(.nonMatch, .finger(1))
            #expect(await evaluate(biometrics) == nil)
            device.present(.cancel)
            #expect(await evaluate(biometrics) == .userCancel)
            try device.lockAndUnlock(finger: 1)
            try device.changePasscode(from: "1234", to: "5678")
            // Told in order: had any of these been told, it would be told before this.
            try device.enrollFinger()
            await eventually { !witness.changes.isEmpty }
            environment.removeObserver(witness)
            #expect(witness.changes.count == 1)
        }
    }

    @Test("CE-19, PC-20: a lockout that comes with time is told when the device next does something")
    func lockoutByTime() async {
        await device.run {
            let environment = LAEnvironment.currentUser
            let witness = Witness()
            environment.addObserver(witness)
            device.advance(by: .hours(49))
            #expect(canEvaluate(biometrics) == .biometryLockout)
            await eventually { witness.changes.count == 1 }
            environment.removeObserver(witness)
            #expect(witness.states.first?.biometry?.isLockedOut == true)
            #expect(witness.changes.first?.old.biometry?.isLockedOut == false)
        }
    }

    @Test("CE-19: a restart of the device is noticed: what it changed is told, and so is what changes then")
    func restart() async throws {
        try await device.run {
            let environment = LAEnvironment.currentUser
            let witness = Witness()
            environment.addObserver(witness)
            device.reboot()
            await eventually { witness.changes.count == 1 }
            #expect(witness.states.last?.biometry?.isLockedOut == true)
            try device.unlock(passcode: "1234")
            await eventually { witness.changes.count == 2 }
            environment.removeObserver(witness)
            #expect(witness.states.last == witness.changes.first?.old)
        }
    }

    @Test("CE-19: an observer is held weakly, and one that was removed is told nothing")
    func leaving() async throws {
        try await device.run {
            let environment = LAEnvironment.currentUser
            let (removed, staying) = (Witness(), Witness())
            weak var gone: Witness?
            do {
                let witness = Witness()
                gone = witness
                environment.addObserver(witness)
            }
            #expect(gone == nil)
            environment.addObserver(removed)
            environment.addObserver(staying)
            environment.removeObserver(removed)
            environment.removeObserver(removed)
            try device.enrollFinger()
            await eventually { staying.changes.count == 1 }
            #expect(removed.changes.isEmpty)
            environment.removeObserver(staying)
        }
    }

    @Test("CE-19: nobody has to keep the environment, and it is the same one for as long as it is observed")
    func environmentIsKept() async throws {
        try await device.run {
            let witness = Witness()
            LAEnvironment.currentUser.addObserver(witness)
            #expect(LAEnvironment.currentUser === LAEnvironment.currentUser)
            try device.enrollFinger()
            await eventually { witness.changes.count == 1 }
            LAEnvironment.currentUser.removeObserver(witness)
            try device.enrollFinger()
            LAEnvironment.currentUser.addObserver(witness)
            try device.removeFinger(2)
            await eventually { witness.changes.count == 2 }
            LAEnvironment.currentUser.removeObserver(witness)
        }
    }

    @Test("CE-19: observers of two apps are told of their own hashes only")
    func twoApps() async throws {
        let (own, other) = (Witness(), Witness())
        device.run { LAEnvironment.currentUser.addObserver(own) }
        device.run(as: "org.example.other") { LAEnvironment.currentUser.addObserver(other) }
        try device.enrollFinger()
        await eventually { own.changes.count == 1 && other.changes.count == 1 }
        #expect(own.states.first?.biometry?.stateHash != other.states.first?.biometry?.stateHash)
        device.run { LAEnvironment.currentUser.removeObserver(own) }
        device.run(as: "org.example.other") { LAEnvironment.currentUser.removeObserver(other) }
    }
}
