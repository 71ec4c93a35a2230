import Foundation
import Synchronization
import Testing
import TouchstoneCore
import TouchstoneCoreFoundation
import TouchstoneLocalAuthentication
import TouchstoneSecurity
import TouchstoneSystem
import TouchstoneTransport

/// Connections over a real socket: kept, shared out, and made again.
@Suite struct ConnectionTests {
    private let device = ScriptedDevice()
    private let path = "/tmp/touchstone-test-\(UUID().uuidString.prefix(8)).sock"
    private let query: [String: String] = ["class": "genp"]

    private func add() -> OSStatus {
        DeviceEndpoint.$scoped.withValue(SocketEndpoint(path: path)) { SecItemAdd(query as CFDictionary, nil) }
    }

    @Test func connectionIsKept() throws {
        let server = try SocketServer(path: path, router: device.router)
        defer { server.stop() }
        for _ in 0..<5 { #expect(add() == errSecSuccess) }
        #expect(server.accepted == 1)
    }

    @Test func restartOfTheDeviceGoesUnnoticed() throws {
        let first = try SocketServer(path: path, router: device.router)
        #expect(add() == errSecSuccess)
        first.stop()
        let second = try SocketServer(path: path, router: device.router)
        defer { second.stop() }
        #expect(add() == errSecSuccess)
        #expect(device.state.withLock { $0.calls } == 2)
    }

    @Test func stoppedDeviceIsNotAvailable() throws {
        let server = try SocketServer(path: path, router: device.router)
        #expect(add() == errSecSuccess)
        server.stop()
        #expect(add() == errSecNotAvailable)
    }

    @Test func callThatMayHaveBeenCarriedOutIsNotSentAgain() throws {
        let server = try SocketServer(path: path, router: device.router)
        defer { server.stop() }
        #expect(add() == errSecSuccess)
        device.set { $0.dropsAdd = true }
        #expect(add() == errSecNotAvailable)
        #expect(device.state.withLock { $0.calls } == 2)
    }

    private func search() -> OSStatus {
        DeviceEndpoint.$scoped.withValue(SocketEndpoint(path: path)) { SecItemCopyMatching(query as CFDictionary, nil) }
    }

    @Test("A search on a kept connection that breaks is made again") func searchIsMadeAgain() throws {
        let server = try SocketServer(path: path, router: device.router)
        defer { server.stop() }
        #expect(add() == errSecSuccess)
        device.set {
            $0.items = [.init()]
            $0.dropsNextSearch = true
        }
        #expect(search() == errSecSuccess)
        #expect(device.state.withLock { $0.calls } == 3)
    }

    @Test("AC-40: if the owner was asked for it, it fails, and the owner is not asked a second time")
    func ownerIsNotAskedAgain() throws {
        let server = try SocketServer(path: path, router: device.router)
        defer { server.stop() }
        #expect(add() == errSecSuccess)
        let control = try AccessControl(protection: .whenUnlocked, flags: .userPresence)
        device.set {
            $0.items = [.init()]
            $0.wanted = control
            $0.dropsNextSearch = true
        }
        #expect(search() == errSecAuthFailed)
        #expect(device.state.withLock { $0.calls } == 3)
        #expect(device.state.withLock { $0.options.count } == 1)
    }

    @Test func callsOfManyThreadsDoNotWaitForAPrompt() async throws {
        let server = try SocketServer(path: path, router: device.router)
        defer { server.stop() }
        device.set { $0.evaluation = .never }
        let context = DeviceEndpoint.$scoped.withValue(SocketEndpoint(path: path)) { LAContext() }
        let answered = AsyncStream<Bool>.makeStream()
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { success, _ in
            answered.continuation.yield(success)
            answered.continuation.finish()
        }
        await eventually { device.state.withLock { $0.options.count } == 1 }
        await withTaskGroup(of: OSStatus.self) { group in
            for _ in 0..<32 { group.addTask { add() } }
            for await status in group { #expect(status == errSecSuccess) }
        }
        context.invalidate()
        for await success in answered.stream { #expect(!success) }
    }

    @Test("A device that dies during an evaluation ends it with systemCancel")
    func deathOfTheDeviceEndsTheEvaluation() async throws {
        let server = try SocketServer(path: path, router: device.router)
        device.set { $0.evaluation = .never }
        let context = DeviceEndpoint.$scoped.withValue(SocketEndpoint(path: path)) { LAContext() }
        let answered = AsyncStream<LAError.Code?>.makeStream()
        context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r") { _, error in
            answered.continuation.yield((error as? LAError)?.code)
            answered.continuation.finish()
        }
        await eventually { device.state.withLock { $0.options.count } == 1 }
        server.stop()
        var codes: [LAError.Code?] = []
        for await code in answered.stream { codes.append(code) }
        #expect(codes == [.systemCancel])
    }

    @Test("EV-33: a context outlives a restart of the device, what was proven on it does not")
    func contextOutlivesARestart() async throws {
        let first = try SocketServer(path: path, router: device.router)
        let context = DeviceEndpoint.$scoped.withValue(SocketEndpoint(path: path)) { LAContext() }
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
        first.stop()
        await eventually { device.state.withLock { $0.contexts.isEmpty } }
        let second = try SocketServer(path: path, router: device.router)
        defer { second.stop() }
        #expect(try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "r"))
        #expect(device.state.withLock { $0.created } == 2)
    }
}
