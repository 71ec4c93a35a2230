import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneInterfaces
import TouchstoneLocalAuthentication
import TouchstoneSystem
import TouchstoneTransport

/// What an environment costs its device: one connection while it is observed, and none otherwise.
@Suite(.timeLimit(.minutes(10))) struct EnvironmentConnectionTests {
    private final class Witness: NSObject, LAEnvironment.Observer {
        let count = Mutex(0)

        func environment(
            _ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State
        ) {
            count.withLock { $0 += 1 }
        }
    }

    /// Has no method of the protocol, which is optional on Apple's platforms.
    private final class Deaf: NSObject, LAEnvironment.Observer {}

    /// A device that only has an environment.
    private final class Device: Sendable {
        typealias Method = AuthenticationInterface.GetEnvironment

        let streams = Mutex<[VarlinkCall<Method>]>([])
        /// How often anybody began to listen.
        let begun = Mutex(0)
        let environment = Mutex(Device.environment(hash: 1))

        static func environment(hash: UInt8) -> AuthenticationInterface.Environment {
            .init(
                biometryType: .touchID, isBiometryUsable: true, isBiometryEnrolled: true, isBiometryLockedOut: false,
                isPasscodeUsable: true, isPasscodeSet: true, domainState: Data([hash]))
        }

        var endpoint: LoopbackEndpoint {
            let handler = VarlinkHandler.deferred(Method.self) { [self] _, call in
                let environment = environment.withLock { $0 }
                guard call.wantsMore else { return call.reply(.init(environment: environment)) }
                let connection = ObjectIdentifier(call.connection)
                // Before a change can be told, which would otherwise be told first.
                call.continue(.init(environment: environment))
                streams.withLock { $0.append(call) }
                begun.withLock { $0 += 1 }
                call.connection.onClose { [self] in
                    streams.withLock { $0.removeAll { ObjectIdentifier($0.connection) == connection } }
                }
            }
            let interface = VarlinkInterface(
                name: AuthenticationInterface.name, description: [], handlers: [handler])
            return LoopbackEndpoint(
                router: VarlinkRouter(info: .init(product: "scripted", version: "0"), interfaces: [interface]),
                peer: Peer(processID: 1, userID: 1) { nil })
        }

        func change(hash: UInt8, times: Int = 1) {
            let new = Self.environment(hash: hash)
            environment.withLock { $0 = new }
            for call in streams.withLock({ $0 }) {
                for _ in 0..<times { call.continue(.init(environment: new)) }
            }
        }
    }

    private let device = Device()

    private func environment() -> LAEnvironment {
        DeviceEndpoint.$scoped.withValue(device.endpoint) { LAEnvironment.currentUser }
    }

    private var streams: Int { device.streams.withLock { $0.count } }

    @Test("CE-19: one connection while it is observed, by however many, and none before and after")
    func oneConnection() async {
        let environment = environment()
        let (first, second, deaf) = (Witness(), Witness(), Deaf())
        #expect(environment.state.biometry?.isUsable == true)
        #expect(streams == 0)
        environment.addObserver(first)
        environment.addObserver(second)
        environment.addObserver(deaf)
        await eventually { streams == 1 }
        device.change(hash: 2)
        await eventually { first.count.withLock { $0 == 1 } && second.count.withLock { $0 == 1 } }
        #expect(streams == 1)
        environment.removeObserver(first)
        environment.removeObserver(deaf)
        device.change(hash: 3)
        await eventually { second.count.withLock { $0 == 2 } }
        #expect(streams == 1 && first.count.withLock { $0 == 1 })
        environment.removeObserver(second)
        await eventually { streams == 0 }
    }

    @Test("CE-19: the same state told again is no change")
    func toldAgain() async {
        let environment = environment()
        let witness = Witness()
        environment.addObserver(witness)
        await eventually { streams == 1 }
        device.change(hash: 2, times: 5)
        device.change(hash: 3)
        await eventually { witness.count.withLock { $0 >= 2 } }
        environment.removeObserver(witness)
        await eventually { streams == 0 }
        #expect(witness.count.withLock { $0 } == 2)
    }

    @Test("CE-19: a connection that ends is made anew, and what changed meanwhile is told once")
    func reconnects() async {
        let environment = environment()
        let witness = Witness()
        environment.addObserver(witness)
        await eventually { streams == 1 }
        let new = Device.environment(hash: 2)
        device.environment.withLock { $0 = new }
        for call in device.streams.withLock({ $0 }) { call.drop() }
        await eventually { witness.count.withLock { $0 == 1 } }
        await eventually { streams == 1 }
        environment.removeObserver(witness)
        await eventually { streams == 0 }
        #expect(witness.count.withLock { $0 } == 1)
    }

    @Test("CE-19: an observer that is gone keeps no connection once there is news")
    func observerIsGone() async {
        let environment = environment()
        do {
            let witness = Witness()
            environment.addObserver(witness)
            await eventually { streams == 1 }
        }
        device.change(hash: 2)
        await eventually { streams == 0 }
    }

    @Test("CE-19: an observer that comes after others are gone has the one connection")
    func observersComeAndGo() async {
        let environment = environment()
        for number in 1...5 {
            let witness = Witness()
            environment.addObserver(witness)
            await eventually { device.begun.withLock { $0 >= number } }
        }
        let last = Witness()
        environment.addObserver(last)
        await eventually { device.begun.withLock { $0 == 6 } }
        await eventually { streams == 1 }
        device.change(hash: 2)
        await eventually { last.count.withLock { $0 == 1 } }
        environment.removeObserver(last)
        await eventually { streams == 0 }
    }
}
