import Foundation
import Testing
import TouchstoneSignIn
import TouchstoneSignInProtocol
import TouchstoneSignInServer
import TouchstoneTesting

/// From the password to a key, and to the next key.
@Suite(.timeLimit(.minutes(20))) struct RegisteringTests {
    @Test("NP-01, NP-20: the password travels once, the key signs its challenge, and from then on a finger is enough")
    func registerAndSignIn() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                #expect(try await client.registration() == nil)
                await #expect(throws: SignInError.notRegistered) { _ = try await client.signIn() }
                device.present(.finger(1))
                let devices = try await client.register(
                    name: "alice", password: LiveServer.password, deviceName: "laptop")
                #expect(devices.map(\.deviceName) == ["laptop"])
                let registration = try #require(try await client.registration())
                #expect(registration.keyID.base64URL == devices.first?.keyID)
                #expect(try await server.keys().map(\.id) == [registration.keyID])

                device.present(.finger(1))
                let session = try await client.signIn(reason: "to see your orders")
                #expect(try await session.devices().map(\.keyID) == [registration.keyID.base64URL])
                try await session.end()
                await #expect(throws: SignInError.sessionEnded) { _ = try await session.devices() }
                #expect(
                    device.prompts.map(\.reason) == [
                        "register this device at signin.test", "sign in to signin.test, to see your orders",
                    ])
            }
            let withPassword = server.traffic.all.filter {
                String(decoding: $0.body, as: UTF8.self).contains("correct horse")
            }
            #expect(withPassword.map(\.path) == ["/v1/password-sessions"])
        }
    }

    @Test("NP-20: a wrong password registers nothing, asks nobody, and leaves no key behind")
    func wrongPassword() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                for name in ["alice", "nobody"] {
                    await #expect(throws: SignInError.refused(clockDifference: nil)) {
                        _ = try await client.register(name: name, password: "wrong", deviceName: "laptop")
                    }
                }
                #expect(device.prompts.isEmpty)
                #expect(try await client.registration() == nil)
            }
            #expect(try await server.keys().isEmpty)
        }
    }

    @Test("a device that cannot have such a key is told so before the password is sent")
    func noFinger() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 0)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                await #expect(throws: SignInError.notAvailable("no finger or face is enrolled on this device")) {
                    _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                }
            }
            #expect(server.traffic.all.isEmpty)
        }
    }

    @Test("AC-53: a registration that the owner cancels leaves the earlier key, and it still signs")
    func cancelledRegistration() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                let before = try await client.registration()
                device.present(.cancel)
                await #expect(throws: SignInError.cancelled) {
                    _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                }
                #expect(try await client.registration() == before)
                device.present(.finger(1))
                try await client.signIn().end()
            }
            #expect(try await server.activeKeys == 1)
        }
    }

    @Test(
        "NP-31, AC-52: another finger ends the key; of many calls at once each says the same, nobody is asked, and one registration follows"
    )
    func reEnrollment() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                let before = try #require(try await client.registration())
                _ = try device.enrollFinger()

                let failures = await withTaskGroup(of: SignInError?.self) { group in
                    for _ in 0..<5 {
                        group.addTask {
                            do throws(SignInError) {
                                _ = try await client.signIn()
                                return nil
                            } catch {
                                return error
                            }
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                #expect(failures == Array(repeating: .registrationNeeded(.invalidated), count: 5))
                #expect(device.prompts.count == 1)
                #expect(try await client.registration()?.registrationNeeded == .invalidated)

                device.present(.finger(2))
                let devices = try await withThrowingTaskGroup(of: [Body.Device].self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            try await client.register(
                                name: "alice", password: LiveServer.password, deviceName: "laptop")
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(devices == Array(repeating: devices[0], count: 3))
                #expect(server.traffic.sent("/v1/registrations").count == 2)
                // NP-22: one key for each device.
                #expect(devices[0].filter { $0.state == .active }.count == 1)
                let after = try #require(try await client.registration())
                #expect(after.keyID != before.keyID && after.registrationNeeded == nil)
                device.present(.finger(2))
                try await client.signIn().end()
            }
        }
    }

    @Test("NP-31: the passcode's end ends the key as well, and a new one serves the new fingers")
    func passcodeRemoved() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                try device.removePasscode("1234")
                try device.setPasscode("5678")
                _ = try device.enrollFinger()
                await #expect(throws: SignInError.registrationNeeded(.invalidated)) { _ = try await client.signIn() }
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                device.present(.finger(1))
                try await client.signIn().end()
            }
        }
    }

    @Test(
        "NP-32: what an earlier installation left is gone at the first launch, and the server keeps one key for the device after it"
    )
    func firstLaunch() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                _ = try await SignInClient.adopt(installation: Data([1]))
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                #expect(try await !SignInClient.adopt(installation: Data([1])))
                #expect(try await SignInClient.adopt(installation: Data([2])))
                await #expect(throws: SignInError.notRegistered) { _ = try await client.signIn() }
                #expect(try await SignInClient.registeredServers().isEmpty)

                device.present(.finger(1), .finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                try await client.signIn().end()
                let own = try #require(try await client.registration()).keyID
                #expect(try await server.keys().count == 2)
                #expect(try await server.keys().filter { $0.state == .active }.map(\.id) == [own])
            }
        }
    }

    @Test(
        "NP-31: a registration under other names does not join the one under way, and a cancelled joiner waits no longer"
    )
    func joining() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1, unanswered: .waits)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                let first = Task {
                    try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                }
                while device.prompts.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
                for (name, deviceName) in [("bob", "laptop"), ("alice", "phone")] {
                    await #expect(throws: SignInError.busy) {
                        _ = try await client.register(
                            name: name, password: LiveServer.password, deviceName: deviceName)
                    }
                }
                let joiner = Task {
                    try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                }
                joiner.cancel()
                await #expect(throws: SignInError.cancelled) { _ = try await joiner.value }
                device.present(.finger(1))
                #expect(try await first.value.map(\.deviceName) == ["laptop"])
                #expect(device.prompts.count == 1)
            }
        }
    }

    @Test("a registration whose answer is lost leaves no key that nobody knows, and the next one mends it")
    func lostAnswer() async throws {
        let device = try SimulatedDevice(passcode: "1234", fingers: 1)
        try await LiveServer.run { server in
            try await device.run {
                let client = try server.client()
                server.traffic.loseAnswers(to: "/v1/registrations")
                device.present(.finger(1))
                await #expect(throws: (any Error).self) {
                    _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                }
                #expect(try await client.registration() == nil)
                #expect(try await server.activeKeys == 1)
                server.traffic.loseNoMore()
                device.present(.finger(1))
                _ = try await client.register(name: "alice", password: LiveServer.password, deviceName: "laptop")
                // The device is the same one, so that the key whose answer was lost is replaced.
                #expect(try await server.activeKeys == 1)
                device.present(.finger(1))
                try await client.signIn().end()
            }
        }
    }
}
